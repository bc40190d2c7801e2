import KithDocuments
import Testing

@testable import KithCommands

@Suite("Import", .timeLimit(.minutes(60)))
struct ImportTests {
    /// A node that stores nothing: it answers as one that holds these documents.
    private static func node(
        holding documents: [String: String] = [:], sequence: Int = 1
    ) -> @Sendable (FakeNode.Request) -> FakeNode.Reply {
        { request in
            if request.target == "/notes" { return .json(200, "{\"update_seq\":\(sequence)}") }
            if request.method == "GET" {
                let path = request.target.dropFirst("/notes/".count)
                guard let found = documents[String(path)] else {
                    return .json(404, "{\"error\":\"not_found\",\"reason\":\"missing\"}")
                }
                return .json(200, found)
            }
            guard let body = try? JSONValue(parsing: request.body) else { return .json(400, "{}") }
            let isKept = body["new_edits"] == false
            let results = (body["docs"]?.arrayValue ?? []).map { document -> JSONValue in
                let id = document["_id"] ?? .null
                if id == "bad" { return ["id": id, "error": "bad_document", "reason": "reserved name"] }
                let isNew = document.objectValue?.names.contains("_rev") == false
                if !isKept, isNew, documents[id.stringValue ?? ""] != nil {
                    return ["id": id, "error": "conflict", "reason": "stale"]
                }
                return ["ok": true, "id": id, "rev": "1-a"]
            }
            return .json(201, JSONValue.array(results).canonicalText())
        }
    }

    private func run(
        _ text: String, _ handler: @escaping @Sendable (FakeNode.Request) -> FakeNode.Reply,
        _ body: (ProgramRun, FakeNode) -> Void
    ) async {
        let node = FakeNode(handler)
        defer { node.stop() }
        let path = node.folder.write("in.jsonl", text)
        body(await ProgramRun("import", "notes", path, home: node.home), node)
    }

    private func posts(_ node: FakeNode) -> [FakeNode.Request] { node.log.filter { $0.method == "POST" } }

    @Test("lines and an array are stored in batches, as they came")
    func stores() async {
        await run("{\"_id\":\"a\",\"n\":1e2}\n{\"_id\":\"b\"}\n", Self.node()) { run, node in
            #expect(run.code == 0)
            #expect(run.output.hasPrefix("2 documents imported in 0."))
            #expect(posts(node).map(\.body) == ["{\"docs\":[{\"_id\":\"a\",\"n\":1e2},{\"_id\":\"b\"}]}"])
        }
        await run("[{\"_id\":\"a\"},\n{\"_id\":\"b\"}]", Self.node()) { run, _ in
            #expect(run.output.hasPrefix("2 documents imported"))
        }
        let many = (0..<1_201).map { "{\"_id\":\"d\($0)\"}\n" }.joined()
        await run(many, Self.node()) { run, node in
            #expect(run.output.hasPrefix("1,201 documents imported"))
            #expect(posts(node).count == 3)
        }
        let large = (0..<5).map { "{\"_id\":\"d\($0)\",\"t\":\"\(String(repeating: "x", count: 400_000))\"}\n" }
            .joined()
        await run(large, Self.node()) { run, node in
            #expect(run.output.hasPrefix("5 documents imported"))
            #expect(posts(node).count == 3)
        }
    }

    @Test("a document that cannot be stored is named with its line, and the others are stored")
    func refuses() async {
        let text = """
            {"_id":"a"}
            {"_id":"b","n":2
            {"n":3}
            [1]
            {"_id":"_x"}
            {"_id":"a2"},{"_id":"a3"}
            {"_id":"bad"}

            {"_id":"c"}
            """
        await run(text, Self.node()) { run, node in
            #expect(run.code == 14)
            #expect(run.output.contains("2 documents imported"))
            #expect(run.output.contains("6 refused"))
            for line in 2...7 { #expect(run.error.contains("line \(line): "), "\(line)") }
            #expect(run.error.contains("line 7: bad: reserved name"))
            #expect(!posts(node).contains { $0.body.contains("a2") })
        }
    }

    @Test("an array that ends too early keeps what came before")
    func brokenArray() async {
        await run("[{\"_id\":\"a\"},\n{\"_id\":", Self.node()) { run, _ in
            #expect(run.code == 14)
            #expect(run.output.contains("1 document imported"))
            #expect(run.error.contains("line 2: the JSON array ends too early"))
        }
    }

    @Test("importing the same file again changes nothing and is no error")
    func again() async {
        let held = ["a": "{\"_id\":\"a\",\"_rev\":\"1-a\",\"n\":1}", "b": "{\"_id\":\"b\",\"_rev\":\"1-b\",\"n\":2}"]
        await run("{\"n\":1.0,\"_id\":\"a\"}\n{\"_id\":\"b\",\"n\":2}\n", Self.node(holding: held)) { run, _ in
            #expect(run.code == 0)
            #expect(run.output.contains("0 documents imported"))
            #expect(run.output.contains("2 already there"))
        }
        await run("{\"_id\":\"a\",\"n\":9}\n{\"_id\":\"c\"}\n", Self.node(holding: held)) { run, _ in
            #expect(run.code == 12)
            #expect(run.output.contains("1 document imported"))
            #expect(run.output.contains("1 there in another version"))
            #expect(run.error == "kith: line 1: a: another version of it is there\n")
        }
    }

    @Test("an export into an empty database keeps its revisions")
    func restore() async {
        await run("{\"_id\":\"a\",\"_rev\":\"3-c\"}\n", Self.node(sequence: 0)) { run, node in
            #expect(run.code == 0)
            #expect(posts(node).map(\.body) == ["{\"new_edits\":false,\"docs\":[{\"_id\":\"a\",\"_rev\":\"3-c\"}]}"])
        }
    }

    @Test("with a revision: unknown documents keep it, known ones are edits of it, the same ones are passed over")
    func revisions() async {
        let held = [
            "a": "{\"_id\":\"a\",\"_rev\":\"1-a\",\"n\":1}", "a?rev=1-a": "{\"_id\":\"a\",\"_rev\":\"1-a\",\"n\":1}",
            "b": "{\"_id\":\"b\",\"_rev\":\"1-b\",\"n\":1}", "b?rev=1-b": "{\"_id\":\"b\",\"_rev\":\"1-b\",\"n\":1}",
        ]
        let text = """
            {"_id":"a","_rev":"1-a","n":1}
            {"_id":"b","_rev":"1-b","n":2}
            {"_id":"c","_rev":"4-d","n":3}
            """
        await run(text, Self.node(holding: held)) { run, node in
            #expect(run.code == 0)
            #expect(run.output.contains("2 documents imported"))
            #expect(run.output.contains("1 already there"))
            #expect(
                posts(node).map(\.body) == [
                    "{\"docs\":[{\"_id\":\"b\",\"_rev\":\"1-b\",\"n\":2}]}",
                    "{\"new_edits\":false,\"docs\":[{\"_id\":\"c\",\"_rev\":\"4-d\",\"n\":3}]}",
                ])
        }
    }

    @Test("a node that goes away in the middle is told with what was stored")
    func nodeGone() async {
        let count = FakeCounter()
        let text = (0..<1_100).map { "{\"_id\":\"d\($0)\"}\n" }.joined()
        await run(
            text,
            { request in
                if request.method == "GET" { return .json(200, "{\"update_seq\":1}") }
                if count.next() > 1 { return .bytes("HTTP/1.1 201 C") }
                return .json(201, "[" + Array(repeating: "{\"ok\":true}", count: 500).joined(separator: ",") + "]")
            }
        ) { run, _ in
            #expect(run.code == 75)
            #expect(run.error.contains("after 500 documents were stored"))
            #expect(run.error.contains("Import the same file again"))
        }
    }
}
