import KithDocuments
import Testing

@testable import KithCommands

@Suite("Commands: check, compaction, backup, restore")
struct MaintenanceCommandTests {
    private static func stream(_ lines: String...) -> FakeNode.Reply {
        let body = lines.map { $0 + "\n" }.joined()
        return .bytes(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(body.utf8.count, radix: 16) + "\r\n" + body + "\r\n0\r\n\r\n")
    }

    private static let halfway = #"{"phase":"copying","completed":50,"total":200}"#

    @Test("a person sees how far it is, a pipe does not")
    func progress() async throws {
        let node = FakeNode { _ in Self.stream("", Self.halfway, #"{"ok":true,"file":"/b","bytes":2048}"#) }
        defer { node.stop() }
        let seen = await ProgramRun("db", "backup", "notes", "/b", home: node.home, errorIsTerminal: true)
        #expect(seen.code == 0 && seen.output == "Backed up notes to /b, 2.0 KB\n")
        #expect(seen.error == "\rBacking up 25 %\u{1B}[K\r\u{1B}[K")
        let piped = await ProgramRun("db", "backup", "notes", "/b", home: node.home)
        #expect(piped.code == 0 && piped.error == "" && piped.output == seen.output)
        #expect(node.log.map(\.target) == ["/notes/_backup?progress=true", "/notes/_backup?progress=true"])
    }

    @Test("an error that comes in the middle has its own exit code, and one line")
    func lateError() async throws {
        let node = FakeNode { _ in
            Self.stream(Self.halfway, #"{"error":"disk_full","reason":"No space is left","remedy":"Free some"}"#)
        }
        defer { node.stop() }
        let run = await ProgramRun("db", "backup", "notes", "/b", home: node.home)
        #expect(run.code == ErrorCode.diskFull.exitCode && run.output == "")
        #expect(run.error.contains("No space is left") && run.error.filter { $0 == "\n" }.count == 1)
    }

    @Test("an answer that ends without a result is an error")
    func cutAnswer() async throws {
        let node = FakeNode { _ in Self.stream(Self.halfway) }
        defer { node.stop() }
        for words in [["check", "notes"], ["compact", "notes"]] {
            let run = await ProgramRun("db", words[0], words[1], home: node.home)
            #expect(run.code == ErrorCode.connectionLost.exitCode && run.output == "")
        }
    }

    @Test("faults are printed so that nothing in them acts on the terminal, and the others are counted")
    func faults() async throws {
        let node = FakeNode { _ in
            Self.stream(
                #"{"ok":false,"documents":9,"attachments":1,"fault_count":3,"faults":["#
                    + #"{"problem":"bad\u001b[31m","document":"a\nb","collection":"stock"},{"problem":"worse"}]}"#)
        }
        defer { node.stop() }
        let run = await ProgramRun("db", "check", "notes", home: node.home)
        #expect(run.code == ErrorCode.damaged.exitCode)
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == 3 && !run.output.contains("\u{1B}"))
        #expect(lines.first?.hasSuffix("in stock: " + DisplayText.safe("bad\u{1B}[31m")) == true)
        #expect(lines.dropFirst() == ["worse", "… and 1 more"])
        #expect(run.error.contains("3 faults in 9 documents, 1 attachment"))
    }

    @Test("db set shows the settings, and changes one")
    func settings() async throws {
        let node = FakeNode { _ in .json(200, #"{"merge":"three-way","revs_limit":20,"keep_old_bodies":false}"#) }
        defer { node.stop() }
        let shown = "keep-old-bodies=false\nmerge=three-way\nrevs-limit=20\n"
        for word in ["merge=three-way", "revs-limit=20", "keep-old-bodies=true"] {
            let run = await ProgramRun("db", "set", "notes", word, home: node.home)
            #expect(run.code == 0 && run.output == shown && run.error == "")
        }
        #expect(await ProgramRun("db", "set", "notes", home: node.home).output == shown)
        let json = await ProgramRun("db", "set", "notes", "--json", home: node.home)
        #expect(json.output == #"{"keep_old_bodies":false,"merge":"three-way","revs_limit":20}"# + "\n")
        #expect(
            node.log.map(\.body) == [
                #"{"merge":"three-way"}"#, #"{"revs_limit":20}"#, #"{"keep_old_bodies":true}"#, "", "",
            ])
        #expect(node.log.allSatisfy { $0.target == "/notes/_settings" })
        for word in ["merge", "color=red", "revs-limit=many", "=", ""] {
            #expect(await ProgramRun("db", "set", "notes", word, home: node.home).code == 64, "\(word)")
        }
        #expect(node.log.count == 5)
    }

    @Test("restore and copy ask for the same, but for what becomes of it")
    func restore() async throws {
        let node = FakeNode { _ in Self.stream(#"{"ok":true,"name":"notes"}"#) }
        defer { node.stop() }
        #expect(await ProgramRun("db", "restore", "/b", "notes", home: node.home).output == "Restored notes from /b\n")
        #expect(await ProgramRun("db", "copy", "/b", "notes", home: node.home).output == "Made notes as a copy of /b\n")
        #expect(
            node.log.map(\.body) == [
                #"{"file":"/b","name":"notes","new":false}"#, #"{"file":"/b","name":"notes","new":true}"#,
            ])
        #expect(node.log.allSatisfy { $0.target == "/_kith/restore?progress=true" })
    }
}
