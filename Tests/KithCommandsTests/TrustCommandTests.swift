import KithDocuments
import KithTrust
import Testing

@testable import KithCommands

@Suite("Trust from the command line", .timeLimit(.minutes(60)))
struct TrustCommandTests {
    private static let own = NodeID(subjectPublicKeyHash: Array(repeating: 1, count: 32))
    private static let other = NodeID(subjectPublicKeyHash: Array(repeating: 2, count: 32))

    /// A home that notes what is done to it.
    private struct FakeHome: LocalHome {
        let node = KnownNode(name: "kitchen pi", id: own.description, short: own.short)

        func trust(_ id: NodeID, name: String?) throws -> KnownNode {
            KnownNode(name: name ?? id.short, id: id.description, short: id.short)
        }

        func renewCertificate() throws -> JSONValue { ["validThrough": "2046-05-03T10:02:11Z"] }

        func certificateRequest() throws -> [UInt8] { Array("a request\n".utf8) }

        func installCertificate(_ certificate: [UInt8]) throws -> JSONValue {
            ["validThrough": "2027-05-03T10:02:11Z"]
        }

        func rotateKey() throws -> KnownNode {
            KnownNode(name: node.name, id: other.description, short: other.short)
        }

        func untrust(_ nameOrID: String) throws -> KnownNode {
            KnownNode(name: nameOrID, id: other.description, short: other.short)
        }
    }

    private static let homes = HomeAccess(
        create: { path, name, _, _ in KnownNode(name: name, id: own.description, short: own.short) },
        open: { _ in FakeHome() }, exists: { _ in true })

    private static let node: @Sendable (FakeNode.Request) -> FakeNode.Reply = { request in
        if request.target == "/_kith/id" {
            return .json(200, "{\"id\":\"\(own)\",\"short\":\"\(own.short)\",\"name\":\"kitchen-pi\"}")
        }
        return .json(201, "{\"ok\":true,\"id\":\"\(other)\",\"short\":\"\(other.short)\",\"name\":\"laptop\"}")
    }

    @Test("id prints the ID alone, from the node or from its home")
    func id() async {
        let node = FakeNode(Self.node)
        defer { node.stop() }
        #expect(await ProgramRun("id", home: node.home).output == "\(Self.own)\n")
        #expect(await ProgramRun("id", "--short", home: node.home).output == "\(Self.own.short)\n")
        let folder = TemporaryFolder()
        #expect(await ProgramRun("id", home: folder.path, homes: Self.homes).output == "\(Self.own)\n")
        #expect(await ProgramRun("id", home: folder.path).code == 24)
    }

    @Test("trust asks the node, and says what to type on the other side")
    func trust() async {
        let node = FakeNode(Self.node)
        defer { node.stop() }
        let typed = Self.other.description.lowercased().split(separator: "-").joined()
        let run = await ProgramRun("trust", typed, "--name", "laptop", home: node.home)
        #expect(run.code == 0)
        #expect(run.output.contains("Trusted laptop  \(Self.other.short)"))
        #expect(run.output.contains("kith trust \(Self.own) --name kitchen-pi"))
        #expect(node.log.last?.target == "/_kith/peers/\(Self.other)")
        #expect(node.log.last?.body == "{\"name\":\"laptop\"}")
    }

    @Test("a question that a person at the terminal cannot see is not taken as answered")
    func unseenQuestion() async {
        let node = FakeNode(Self.node)
        defer { node.stop() }
        let verify = await ProgramRun("peers", "verify", "laptop", home: node.home, inputIsTerminal: true)
        #expect(verify.code == 0)
        let revoke = await ProgramRun("peers", "revoke", "laptop", home: node.home, inputIsTerminal: true)
        #expect(revoke.code != 0 && revoke.error.contains("--yes"))
        let rotate = await ProgramRun("key", "rotate", home: node.home, inputIsTerminal: true, homes: Self.homes)
        #expect(rotate.code != 0 && rotate.output.isEmpty)
        #expect(node.log.allSatisfy { $0.method == "GET" })
        #expect(
            await ProgramRun("peers", "revoke", "laptop", "--yes", home: node.home, inputIsTerminal: true).code == 0)
    }

    @Test("trust and untrust work on the home when no node runs")
    func offline() async {
        let folder = TemporaryFolder()
        let trust = await ProgramRun(
            "trust", Self.other.description, "--name", "laptop", home: folder.path, homes: Self.homes)
        #expect(trust.output.contains("Trusted laptop"))
        #expect(trust.output.contains("--name 'kitchen pi'"))
        let untrust = await ProgramRun("untrust", "laptop", home: folder.path, homes: Self.homes)
        #expect(untrust.output.contains("laptop is not trusted any more"))
    }

    @Test("a mistyped ID is refused with 16 before anything is asked")
    func mistyped() async {
        let node = FakeNode(Self.node)
        defer { node.stop() }
        var letters = Array(Self.other.description)
        letters[2] = letters[2] == "B" ? "C" : "B"
        for wrong in [String(letters), "", "no node id", String(Self.other.description.dropLast())] {
            let run = await ProgramRun("trust", wrong, home: node.home)
            #expect(run.code == 16, "\(wrong)")
            #expect(run.error.split(separator: "\n").count == 1)
        }
        #expect(node.log.isEmpty)
    }

    @Test("a node does not trust itself")
    func itself() async {
        let node = FakeNode(Self.node)
        defer { node.stop() }
        #expect(await ProgramRun("trust", Self.own.description, home: node.home).code == 16)
        #expect(node.log.map(\.method) == ["GET"])
    }

    @Test("init makes the home with the name and port that were typed")
    func initialise() async {
        let folder = TemporaryFolder()
        let run = await ProgramRun("init", "--name", "kitchen-pi", home: folder.path, homes: Self.homes)
        #expect(run.code == 0)
        #expect(run.output.hasPrefix("* kitchen-pi  \(Self.own.short)   is a node now, in \(folder.path)\n"))
        #expect(await ProgramRun("init", "--port", "70000", home: folder.path, homes: Self.homes).code == 64)
    }

    @Test("up hands its options to the node, and refuses those that cannot be meant")
    func up() async throws {
        let runner = NodeRunner { path, options, _ in
            var expected = NodeRunner.Options()
            expected.port = 0
            expected.listen = "127.0.0.1"
            expected.peers = ["192.168.1.20:4984", "[fe80::1%eth0]:4984"]
            expected.name = "pi"
            expected.discovers = false
            #expect(options == expected)
            throw KithError(.portBusy, "the port is taken")
        }
        let run = await ProgramRun(
            "up", "--port", "0", "--listen", "127.0.0.1", "--peer", "192.168.1.20:4984", "--peer=[fe80::1%eth0]:4984",
            "--name", "pi", "--no-discovery", home: "/nonexistent", runner: runner)
        #expect(run.code == 21)
        for wrong in [
            ["--port", "70000"], ["--port", "x"], ["--peer", "pi"], ["--peer", "pi:0"], ["--peer", ":80"],
        ] {
            #expect(await ProgramRun("up", wrong[0], wrong[1], home: "/nonexistent").code == 64, "\(wrong)")
        }
    }
}
