import Testing

@testable import KithCommands

@Suite("Arguments")
struct ArgumentParserTests {
    private let spec = CommandSpec(
        "do it", summary: "does it",
        positionals: [PositionalSpec("A", help: ""), PositionalSpec("B", isOptional: true, help: "")],
        options: [
            OptionSpec("rev", short: "r", value: .required("REV"), help: ""),
            OptionSpec("watch", short: "w", value: .optional("SECONDS"), help: ""),
            OptionSpec("verbose", short: "v", help: ""),
            OptionSpec("peer", value: .required("PEER"), isRepeatable: true, help: ""),
        ], examples: [])

    private func parse(_ words: String...) throws -> ParsedArguments { try ArgumentParser(spec: spec).parse(words) }

    private func message(_ words: String...) -> UsageError? {
        do {
            _ = try ArgumentParser(spec: spec).parse(words)
            return nil
        } catch {
            return error
        }
    }

    @Test("options are read before, between and after arguments")
    func order() throws {
        for words in [["--rev", "1", "a", "b"], ["a", "--rev", "1", "b"], ["a", "b", "--rev=1"], ["a", "-r1", "b"]] {
            let result = try ArgumentParser(spec: spec).parse(words)
            #expect(result.positionals == ["a", "b"])
            #expect(result.value("rev") == "1")
        }
    }

    @Test("a value may be empty, hold an equals sign, or begin with a dash")
    func values() throws {
        #expect(try parse("a", "--rev=").value("rev") == "")
        #expect(try parse("a", "--rev=x=y").value("rev") == "x=y")
        #expect(try parse("a", "--rev", "-1").value("rev") == "-1")
        #expect(try parse("a", "--peer", "x", "--peer", "y").values("peer") == ["x", "y"])
    }

    @Test("an optional value never takes the next word")
    func optionalValue() throws {
        let result = try parse("--watch", "5")
        #expect(result.has("watch"))
        #expect(result.value("watch") == nil)
        #expect(result.positionals == ["5"])
        #expect(try parse("a", "--watch=5").value("watch") == "5")
        #expect(try parse("a", "-w=5").value("watch") == "5")
    }

    @Test("switches may share a dash; a lone dash is an argument; after -- everything is one")
    func dashes() throws {
        let result = try parse("-wv", "a")
        #expect(result.has("watch") && result.has("verbose"))
        #expect(try parse("-").positionals == ["-"])
        #expect(try parse("--", "--rev", "-v").positionals == ["--rev", "-v"])
    }

    @Test("a mistyped option is refused with the nearest name")
    func unknown() {
        #expect(message("a", "--rve", "1")?.hint?.contains("Did you mean --rev?") == true)
        #expect(message("a", "--nonsense-entirely")?.hint == "See: kith help do it")
        #expect(message("a", "-x")?.message == "there is no option -x here")
        // Nothing is abbreviated.
        #expect(message("a", "--verb") != nil)
    }

    @Test("missing and superfluous words are refused")
    func counts() {
        #expect(message()?.message.contains("A is missing") == true)
        #expect(message("a", "b", "c")?.message.contains("“c” is one argument too many") == true)
        #expect(message("a", "--rev")?.message.contains("--rev needs a value") == true)
        #expect(message("a", "--verbose=1")?.message == "--verbose takes no value")
        #expect(message("a", "--rev", "1", "--rev", "2")?.message == "--rev was given twice")
    }

    @Test("an argument from outside cannot write on the terminal")
    func escapes() {
        #expect(message("a", "b", "\u{1B}[2Jc")?.message.contains("\u{1B}") == false)
        #expect(message("a", "--\u{1B}[2J")?.message.contains("\u{1B}") == false)
    }

    @Test("help needs no arguments")
    func help() throws {
        #expect(try parse("--help").has("help"))
        #expect(try parse("-h").has("help"))
    }

    @Test("a near word is suggested, a far one is not")
    func suggestions() {
        #expect(Suggestion.nearest(to: "stauts", among: ["status", "export"]) == "status")
        #expect(Suggestion.nearest(to: "imprt", among: ["import", "export"]) == "import")
        #expect(Suggestion.nearest(to: "frobnicate", among: ["status", "export"]) == nil)
        #expect(Suggestion.nearest(to: String(repeating: "x", count: 10_000), among: ["status"]) == nil)
    }
}
