import KithDocuments
import Testing

@testable import KithCommands

@Suite("Status and wait against a node", .timeLimit(.minutes(60)))
struct StatusCommandTests {
    private static func chunk(_ scenario: StatusScenario) -> String {
        let line = (try? scenario.value.canonicalText()).map { $0 + "\n" } ?? ""
        return String(line.utf8.count, radix: 16) + "\r\n" + line + "\r\n"
    }

    private static let feedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    private func withNode(
        _ reply: FakeNode.Reply, _ body: (FakeNode) async throws -> Void
    ) async throws {
        let node = FakeNode { _ in reply }
        defer { node.stop() }
        try await body(node)
    }

    @Test("kith alone is kith status")
    func bare() async throws {
        try await withNode(.json(200, StatusScenario.inSync.text)) { node in
            let bare = await ProgramRun(home: node.home)
            #expect(bare.code == 0)
            #expect(bare.output.hasPrefix("* kitchen-pi  K7QX-2M9F   in sync with 2 peers\n"))
            #expect(node.log[0].target == "/_kith/status")
            #expect(await ProgramRun("status", home: node.home).output.hasPrefix("* kitchen-pi"))
        }
    }

    @Test("JSON is what the node said, in version 1 only")
    func json() async throws {
        try await withNode(.json(200, StatusScenario.conflicts.text)) { node in
            for option in ["--json", "--json=1"] {
                let run = await ProgramRun("status", option, home: node.home)
                let printed = try JSONValue(parsing: run.output)
                let expected = try StatusScenario.conflicts.value
                #expect(printed == expected)
            }
            #expect(await ProgramRun("status", "--json=2", home: node.home).code == 64)
            let redacted = await ProgramRun("status", "--json", "--redact", home: node.home)
            #expect(!redacted.output.contains("shopping-list"))
        }
    }

    @Test(
        "--check ends with 0, 1 or 2",
        arguments: [
            (StatusScenario.inSync, Int32(0)), (.conflicts, 1), (.blocked, 1), (.discoveryOff, 1), (.stopped, 2),
        ])
    func check(_ scenario: StatusScenario, _ code: Int32) async throws {
        try await withNode(.json(200, scenario.text)) { node in
            let run = await ProgramRun("status", "--check", home: node.home)
            #expect(run.code == code)
            #expect(run.output.isEmpty == (code == 0))
            #expect(await ProgramRun("status", home: node.home).code == 0)
        }
    }

    @Test("one part alone, or one peer alone")
    func parts() async throws {
        try await withNode(.json(200, StatusScenario.conflicts.text)) { node in
            let peers = await ProgramRun("status", "--peers", home: node.home).output
            #expect(peers.contains("laptop") && !peers.contains("photos") && !peers.contains("shopping-list"))
            let others = await ProgramRun("status", "--no-peers", home: node.home).output
            #expect(!others.contains("laptop") && others.contains("photos"))
            #expect(
                await ProgramRun("status", "laptop", home: node.home).output.hasPrefix("* laptop  M4VT-90XC   in sync"))
            #expect(await ProgramRun("status", "nobody", home: node.home).code == 10)
            #expect(await ProgramRun("status", "--peers", "--no-peers", home: node.home).code == 64)
        }
    }

    @Test("wait ends when the feed says that the peer has everything")
    func waitSynced() async throws {
        try await withNode(.bytesThenSilence(Self.feedHead + Self.chunk(.syncing) + Self.chunk(.inSync))) { node in
            #expect(await ProgramRun("wait", "--synced-with", "laptop", home: node.home).code == 0)
            #expect(await ProgramRun("wait", "--synced-with", "M4VT-90XC", "--idle", "--up", home: node.home).code == 0)
            #expect(node.log[0].target == "/_kith/status?feed=continuous")
        }
    }

    @Test("wait that runs out of time ends with 5 and says what is missing")
    func waitInVain() async throws {
        try await withNode(.bytesThenSilence(Self.feedHead + Self.chunk(.offline))) { node in
            let run = await ProgramRun("wait", "--synced-with", "desk-mac", "--timeout", "200ms", home: node.home)
            #expect(run.code == 5)
            #expect(run.error == "kith: waited 0.2 s in vain: desk-mac is offline, 37 documents to send\n")
            // Nothing is under way with a peer that is away.
            #expect(await ProgramRun("wait", "--idle", home: node.home).code == 0)
        }
        let folder = TemporaryFolder()
        #expect(await ProgramRun("wait", "--up", "--timeout", "50ms", home: folder.path).code == 5)
    }

    @Test("wait refuses an unknown peer and no condition, and without a node waits for --up only")
    func waitRefused() async throws {
        try await withNode(.bytesThenSilence(Self.feedHead + Self.chunk(.inSync))) { node in
            #expect(await ProgramRun("wait", "--synced-with", "nobody", home: node.home).code == 10)
            #expect(await ProgramRun("wait", home: node.home).code == 64)
        }
        let folder = TemporaryFolder()
        #expect(await ProgramRun("wait", "--idle", home: folder.path).code == 3)
    }
}
