import KithDocuments
import Testing

@testable import KithCommands

@Suite("Commands and their help")
struct CommandTableTests {
    private static let root = String(#filePath.dropLast("/Tests/KithCommandsTests/CommandTableTests.swift".utf8.count))

    @Test("every command has help with an example, within 80 columns", arguments: CommandTable.all.map { $0.spec.name })
    func help(name: String) async throws {
        let words = name.split(separator: " ").map(String.init)
        let page: ProgramRun
        let same: ProgramRun
        if words.count == 1 {
            page = await ProgramRun(words[0], "--help", home: "/nonexistent")
            same = await ProgramRun("help", words[0], home: "/nonexistent")
        } else {
            page = await ProgramRun(words[0], words[1], "--help", home: "/nonexistent")
            same = await ProgramRun("help", words[0], words[1], home: "/nonexistent")
        }
        #expect(page.code == 0)
        #expect(page.error == "")
        #expect(page.output.contains("Example"))
        #expect(page.output.contains("kith " + name))
        #expect(page.output == same.output)
        for line in page.output.split(separator: "\n") { #expect(DisplayText.width(String(line)) <= 80, "\(line)") }
    }

    @Test("the overview lists every command within 80 columns")
    func overview() async {
        let text = await ProgramRun("help", home: "/nonexistent").output
        for command in CommandTable.all { #expect(text.contains("  \(command.spec.name) ")) }
        for line in text.split(separator: "\n") { #expect(DisplayText.width(String(line)) <= 80, "\(line)") }
        #expect(await ProgramRun("--help", home: "/nonexistent").output == text)
        #expect(await ProgramRun("-h", home: "/nonexistent").output == text)
    }

    @Test("the manual has every command, every option and every exit code")
    func manual() throws {
        let source = try #require(TemporaryFolder.read(Self.root + "/docs/man/kith.1"))
        let text = source.split(separator: "\\").joined().split(separator: "\n").map { line in
            // Without the macros, as a reader sees it.
            line.hasPrefix(".") ? line.split(separator: " ").dropFirst().joined(separator: " ") : String(line)
        }.joined(separator: "\n")
        for command in CommandTable.all {
            #expect(text.contains("kith \(command.spec.name)"), "\(command.spec.name)")
            for option in command.spec.options { #expect(text.contains("--\(option.long)"), "\(option.long)") }
        }
        for option in OptionSpec.common { #expect(text.contains("--\(option.long)")) }
        for code in ErrorCode.all { #expect(text.contains(code.name), "\(code.name)") }
        for code in ErrorCode.all { #expect(text.contains("\n\(code.exitCode)\n"), "\(code.exitCode)") }
    }

    @Test("a mistyped command is refused with 64 and the nearest name")
    func mistyped() async {
        let run = await ProgramRun("stauts", home: "/nonexistent")
        #expect(run.code == 64)
        #expect(run.output == "")
        #expect(run.error == "kith: there is no command stauts. Did you mean kith status?\n")
        #expect(await ProgramRun("db", home: "/nonexistent").code == 64)
        #expect(
            await ProgramRun("db", "creat", "x", home: "/nonexistent").error.contains("Did you mean kith db create?"))
        #expect(await ProgramRun("help", "nothing", home: "/nonexistent").code == 64)
        #expect(await ProgramRun("db", "--help", home: "/nonexistent").output.contains("kith db digest"))
    }

    @Test("options may stand before the command; without a command it is status")
    func resolution() throws {
        #expect(try CommandTable.resolve(["--home", "/x", "db", "list"]).command.spec.name == "db list")
        #expect(try CommandTable.resolve(["--home", "/x", "db", "list"]).rest == ["--home", "/x"])
        #expect(try CommandTable.resolve(["--home=/x", "get", "a", "b"]).rest == ["--home=/x", "a", "b"])
        #expect(try CommandTable.resolve([]).command.spec.name == "status")
        #expect(try CommandTable.resolve(["-w"]).rest == ["-w"])
        #expect(try CommandTable.resolve(["--version"]).command.spec.name == "version")
        #expect(try CommandTable.resolve(["conflicts", "list", "notes"]).rest == ["notes"])
        #expect(try CommandTable.resolve(["conflicts", "show", "notes/a"]).command.spec.name == "conflicts show")
    }

    @Test("the version is one line")
    func version() async {
        #expect(await ProgramRun("version", home: "/nonexistent").output == "kith \(ProgramVersion.text)\n")
    }

    @Test("every code of the table of errors is found by its name")
    func codes() throws {
        let source = try #require(TemporaryFolder.read(Self.root + "/Sources/KithDocuments/ErrorCode.swift"))
        var count = 0
        for line in source.split(separator: "\n") {
            guard let start = line.range(of: "= ErrorCode(\"") else { continue }
            let name = String(line[start.upperBound...].prefix { $0 != "\"" })
            #expect(ErrorCode.named(name)?.name == name)
            count += 1
        }
        #expect(count == ErrorCode.all.count)
        #expect(ErrorCode.named("no such code") == nil)
    }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
