import Glibc
import KithDocuments
import Testing

@testable import KithCommands

@Suite("Talking to the node", .timeLimit(.minutes(60)))
struct ConnectionTests {
    private static let good = "{\"schemaVersion\":1,\"node\":{\"name\":\"pi\",\"id\":\"K7QX-2M9F\"}}"

    private func withNode(
        _ handler: @escaping @Sendable (FakeNode.Request) -> FakeNode.Reply, _ body: (FakeNode) async throws -> Void
    ) async throws {
        let node = FakeNode(handler)
        defer { node.stop() }
        try await body(node)
    }

    private func client(_ home: String, timeout: Int = 10_000) -> NodeClient {
        NodeClient(socketPath: home + "/run/kith.sock", timeoutMilliseconds: timeout, noNodeHint: "kith up")
    }

    private func code(of body: () throws -> Void) -> ErrorCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? KithError)?.code
        }
    }

    @Test("without a home, the hint is to make one; exit code 3")
    func noHome() async {
        let folder = TemporaryFolder()
        let run = await ProgramRun("get", "notes", "a", home: folder.path)
        #expect(run.code == 3)
        #expect(run.output == "")
        #expect(run.error == "kith: no node is running here. Make one with: kith init, then start it with: kith up\n")
    }

    @Test("a socket that a dead node left behind is no node")
    func stale() async {
        let folder = TemporaryFolder()
        close(FakeNode.listen(in: folder.path))
        let run = await ProgramRun("get", "notes", "a", home: folder.path)
        #expect(run.code == 3)
        #expect(run.error.contains("left over"))
    }

    @Test("a file in the place of the socket, and a folder, are no node")
    func notASocket() async {
        let folder = TemporaryFolder()
        mkdir(folder.path + "/run", 0o700)
        _ = folder.write("run/kith.sock", "")
        #expect(await ProgramRun("list", "notes", home: folder.path).code == 3)
        #expect(await ProgramRun("list", "notes", home: folder.path + "/run/kith.sock").code == 3)
    }

    @Test("a node that hangs is told apart, with exit code 4")
    func hung() async {
        let folder = TemporaryFolder()
        let listener = FakeNode.listen(in: folder.path)
        defer { close(listener) }
        let run = await ProgramRun("get", "notes", "a", "--timeout", "100ms", home: folder.path)
        #expect(run.code == 4)
        #expect(run.error.contains("did not answer within 0.1 s"))
    }

    @Test("a node whose queue of connections is full is one that hangs")
    func fullQueue() async {
        let folder = TemporaryFolder()
        let listener = FakeNode.listen(in: folder.path, backlog: 0)
        defer { close(listener) }
        var waiting: [UnixSocket] = []
        for _ in 0..<4 {
            if let socket = try? UnixSocket(
                path: folder.path + "/run/kith.sock", deadlineMilliseconds: 0, timeoutMilliseconds: 1, noNodeHint: "")
            {
                waiting.append(socket)
            }
        }
        #expect(await ProgramRun("get", "notes", "a", "--timeout", "100ms", home: folder.path).code == 4)
        #expect(waiting.count < 4)
    }

    @Test(
        "half an answer, then silence: exit code 4",
        arguments: ["", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"])
    func halfThenSilence(_ text: String) async throws {
        try await withNode({ _ in .bytesThenSilence(text) }) { node in
            #expect(await ProgramRun("status", "--timeout", "100ms", home: node.home).code == 4)
        }
    }

    @Test("an answer cut at any place is never taken for a whole one")
    func cut() async throws {
        let body = Self.good
        for whole in [
            "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n",
        ] {
            for end in 0..<whole.utf8.count {
                let part = String(decoding: Array(whole.utf8)[..<end], as: UTF8.self)
                try await withNode({ _ in .bytes(part) }) { node in
                    let code = code(of: { _ = try client(node.home).json(NodeRequest("GET", [])) })
                    #expect(code == .connectionLost, "cut at \(end)")
                }
            }
            try await withNode({ _ in .bytes(whole) }) { node in
                let answer = try client(node.home).json(NodeRequest("GET", []))
                #expect(answer["schemaVersion"] == 1)
            }
        }
    }

    @Test("an answer in pieces of one byte is the same answer")
    func byteByByte() async throws {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: \(Self.good.utf8.count)\r\n\r\n\(Self.good)"
        try await withNode({ _ in .pieces(text.map(String.init)) }) { node in
            let answer = try client(node.home).json(NodeRequest("GET", []))
            #expect(answer["schemaVersion"] == 1)
        }
    }

    @Test(
        "garbage is refused in words",
        arguments: [
            "SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{{{{", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        ])
    func garbage(_ text: String) async throws {
        try await withNode({ _ in .bytes(text) }) { node in
            let run = await ProgramRun("status", home: node.home)
            #expect(run.code == 76)
            #expect(run.error.split(separator: "\n").count == 1)
            #expect(run.output == "")
        }
    }

    @Test("a refusal keeps its code, reason and remedy, and cannot act on the terminal")
    func refusal() async throws {
        let body = "{\"error\":\"disk_full\",\"reason\":\"no \\u001b[2J space\",\"remedy\":\"Free some\"}"
        try await withNode({ _ in .json(507, body) }) { node in
            let run = await ProgramRun("put", "notes", "a", "{}", home: node.home)
            #expect(run.code == 27)
            #expect(run.error == "kith: no \\u{1b}[2J space. Free some\n")
            let person = await ProgramRun("put", "notes", "a", "{}", home: node.home, errorIsTerminal: true)
            #expect(person.error == "kith: no \\u{1b}[2J space\n  Free some\n")
        }
    }

    @Test("a refusal of a newer node, and one without a reason, have codes of their own")
    func unknownRefusal() async throws {
        try await withNode({ _ in .json(418, "{\"error\":\"teapot\",\"reason\":\"short and stout\"}") }) { node in
            let run = await ProgramRun("put", "notes", "a", "{}", home: node.home)
            #expect(run.code == 69)
            #expect(run.error == "kith: short and stout\n")
        }
        try await withNode({ _ in .json(500, "oops") }) { node in
            #expect(await ProgramRun("put", "notes", "a", "{}", home: node.home).code == 76)
        }
    }

    @Test("one connection carries several requests, and a closed one is made again")
    func keepAlive() async throws {
        try await withNode({ request in
            request.target == "/last" ? .bytes("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}") : .json(200, "{}")
        }) { node in
            let client = client(node.home)
            for part in ["a", "b", "last", "c"] { _ = try client.send(NodeRequest("GET", [part])) }
            #expect(node.log.map(\.target) == ["/a", "/b", "/last", "/c"])
        }
    }

    @Test("names cannot become other paths")
    func encoding() {
        let request = NodeRequest("GET", ["a/b", "x?y#z %ü", ".."], query: [("key", "\"a&b=c+d\"")])
        #expect(request.target == "/a%2Fb/x%3Fy%23z%20%25%C3%BC/..?key=%22a%26b%3Dc%2Bd%22")
        #expect(NodeRequest("GET", []).target == "/")
    }

    @Test("a socket whose path is longer than an address holds is reached through its folder")
    func longPath() async throws {
        let folder = TemporaryFolder()
        let home = folder.path + "/" + String(repeating: "x", count: 120)
        mkdir(home, 0o700)
        let listener = FakeNode.listen(in: home)
        defer { close(listener) }
        #expect(await ProgramRun("get", "notes", "a", "--timeout", "50ms", home: home).code == 4)
        #expect(
            await ProgramRun("get", "notes", "a", home: folder.path + "/" + String(repeating: "y", count: 120)).code
                == 3)
    }

    @Test("status in JSON is JSON also when there is no node")
    func statusWithoutNode() async throws {
        let folder = TemporaryFolder()
        let run = await ProgramRun("status", "--json", home: folder.path)
        #expect(run.code == 3)
        let value = try JSONValue(parsing: run.output)
        #expect(value["node"]?["state"] == "stopped")
        #expect(value["problems"]?[0]?["code"] == "no_node")
        #expect(run.error.split(separator: "\n").count == 1)
        let person = await ProgramRun("status", home: folder.path, errorIsTerminal: true)
        #expect(person.error.hasPrefix("x No node is running here.\n    Make one with"))
    }

    @Test("a time-out that is none is refused")
    func badTimeout() async {
        #expect(await ProgramRun("status", "--timeout", "soon", home: "/nonexistent").code == 64)
        #expect(await ProgramRun("status", "--home", "", home: "/nonexistent").code == 64)
    }
}
