import Glibc
import KithDocuments
import Testing

@testable import KithCommands

@Suite("Commands for documents", .timeLimit(.minutes(60)))
struct DocumentCommandTests {
    private func withNode(
        _ handler: @escaping @Sendable (FakeNode.Request) -> FakeNode.Reply, _ body: (FakeNode) async throws -> Void
    ) async throws {
        let node = FakeNode(handler)
        defer { node.stop() }
        try await body(node)
    }

    private static let revision = "2-" + String(repeating: "a", count: 40)

    @Test("put prints the ID and the new revision")
    func put() async throws {
        try await withNode({ _ in .json(201, "{\"ok\":true,\"id\":\"list:1\",\"rev\":\"\(Self.revision)\"}") }) {
            node in
            let run = await ProgramRun("put", "notes", "list:1", "{\"a\":1}", "--rev", "1-abc", home: node.home)
            #expect(run.code == 0)
            #expect(run.output == "list:1  \(Self.revision)\n")
            #expect(node.log[0].method == "PUT")
            #expect(node.log[0].target == "/notes/list%3A1?rev=1-abc")
            #expect(node.log[0].body == "{\"a\":1}")
        }
    }

    @Test("put on a document that is there names its revision and the command to type")
    func putConflict() async throws {
        try await withNode({ request in
            request.method == "PUT"
                ? .json(409, "{\"error\":\"conflict\",\"reason\":\"stale\"}")
                : .json(200, "{\"_id\":\"a b\",\"_rev\":\"\(Self.revision)\"}")
        }) { node in
            let run = await ProgramRun("put", "notes", "a b", "{}", home: node.home)
            #expect(run.code == 12)
            #expect(run.error.contains("notes/a b is there, at revision \(Self.revision)"))
            #expect(run.error.contains("kith put notes 'a b' --rev \(Self.revision)"))
        }
    }

    @Test("put reads its body from a file")
    func putFile() async throws {
        try await withNode({ _ in .json(201, "{\"ok\":true,\"id\":\"a\",\"rev\":\"1-a\"}") }) { node in
            let path = node.folder.write("body.json", "{\"file\":true}")
            #expect(await ProgramRun("put", "notes", "a", "-f", path, home: node.home).code == 0)
            #expect(node.log[0].body == "{\"file\":true}")
            #expect(await ProgramRun("put", "notes", "a", "{}", "-f", path, home: node.home).code == 64)
            #expect(await ProgramRun("put", "notes", "a", "-f", path + "x", home: node.home).code == 74)
        }
    }

    @Test(
        "names that are not legal are refused before anything is asked",
        arguments: [
            ["get", "Notes", "a"], ["get", "notes", ""], ["get", "notes", "_all_docs"], ["delete", "notes", "_secret"],
            ["get", "notes", "_local/"], ["db", "create", "_users"], ["db", "delete", "../x"], ["list", "_kith"],
            ["get", "notes", "a", "--rev", "nonsense"], ["conflicts", "show", "notes/_changes"],
        ])
    func badNames(words: [String]) async throws {
        try await withNode({ _ in .json(200, "{}") }) { node in
            let run =
                words.count == 3
                ? await ProgramRun(words[0], words[1], words[2], home: node.home)
                : words.count == 2
                    ? await ProgramRun(words[0], words[1], home: node.home)
                    : await ProgramRun(words[0], words[1], words[2], words[3], words[4], home: node.home)
            #expect(run.code == 15, "\(run.error)")
            #expect(node.log.isEmpty)
        }
    }

    @Test("design and local documents have their own paths")
    func specialPaths() throws {
        #expect(try DocumentAddress(database: "notes", document: "_design/a/b").path == ["notes", "_design", "a/b"])
        #expect(try DocumentAddress(database: "notes", document: "_local/x").path == ["notes", "_local", "x"])
        #expect(try DocumentAddress(parsing: "notes/a/b").path == ["notes", "a/b"])
        #expect(throws: UsageError.self) { try DocumentAddress(parsing: "notes") }
    }

    @Test("get prints the very bytes in a pipe, and lays out on a terminal")
    func get() async throws {
        try await withNode({ _ in .json(200, "{\"_id\":\"a\",\"n\":12345678901234567890,\"z\":\"\\u009b\"}") }) {
            node in
            let piped = await ProgramRun("get", "notes", "a", home: node.home)
            #expect(piped.output == "{\"_id\":\"a\",\"n\":12345678901234567890,\"z\":\"\\u009b\"}\n")
            let style = TerminalStyle(isTerminal: true)
            let shown = await ProgramRun("get", "notes", "a", home: node.home, style: style)
            #expect(shown.output.contains("\n  \"n\": 12345678901234567890"))
            #expect(shown.output.contains("\\u009b"))
            #expect(
                await ProgramRun("get", "notes", "a", "--compact", home: node.home, style: style).output == piped.output
            )
        }
    }

    @Test("what is missing is named, with a code for each kind")
    func missing() async throws {
        try await withNode({ request in
            request.target.hasPrefix("/nowhere")
                ? .json(404, "{\"error\":\"database_not_found\",\"reason\":\"no_db_file\"}")
                : .json(
                    404,
                    "{\"error\":\"not_found\",\"reason\":\"\(request.target.contains("gone") ? "deleted" : "missing")\"}"
                )
        }) { node in
            let document = await ProgramRun("get", "notes", "patient:404", home: node.home)
            #expect(document.code == 10)
            #expect(document.error.contains("there is no document notes/patient:404"))
            #expect(await ProgramRun("get", "notes", "gone", home: node.home).error.contains("notes/gone was deleted"))
            #expect(
                await ProgramRun("get", "notes", "a", "--rev", "1-a", home: node.home).error.contains("no revision 1-a")
            )
            for words in [["get", "nowhere", "x"], ["delete", "nowhere", "x"]] {
                let run = await ProgramRun(words[0], words[1], words[2], home: node.home)
                #expect(run.code == 11)
                #expect(run.error.contains("nowhere"))
            }
            for word in ["list", "changes", "export", "conflicts"] {
                #expect(await ProgramRun(word, "nowhere", home: node.home).code == 11, "\(word)")
            }
            #expect(await ProgramRun("db", "digest", "nowhere", home: node.home).code == 11)
        }
    }

    @Test("delete without a revision deletes the current one")
    func delete() async throws {
        try await withNode({ request in
            request.method == "GET"
                ? .json(200, "{\"_id\":\"a\",\"_rev\":\"1-a\"}")
                : .json(200, "{\"ok\":true,\"id\":\"a\",\"rev\":\"2-b\"}")
        }) { node in
            #expect(await ProgramRun("delete", "notes", "a", home: node.home).output == "a  2-b  deleted\n")
            #expect(node.log.map(\.method) == ["GET", "DELETE"])
            #expect(node.log[1].target == "/notes/a?rev=1-a")
            _ = await ProgramRun("delete", "notes", "a", "--rev", "1-x", home: node.home)
            #expect(node.log.last?.target == "/notes/a?rev=1-x")
        }
    }

    /// A node with documents of these IDs, which answers `_all_docs` as CouchDB does.
    private static func listing(_ ids: [String]) -> @Sendable (FakeNode.Request) -> FakeNode.Reply {
        { request in
            guard request.target.contains("_all_docs") else { return .json(200, "{\"update_seq\":1}") }
            var query: [String: String] = [:]
            for item in request.target.split(separator: "?").last?.split(separator: "&") ?? [] {
                let pair = item.split(separator: "=")
                query[String(pair[0])] = String(pair[1])
            }
            let start = query["startkey"].map { String($0.dropFirst(3).dropLast(3)) }
            let from = ids.filter { id in start.map { id >= $0 } ?? true }.prefix(Int(query["limit"] ?? "") ?? 0)
            let rows = from.map { id in
                let document = query["include_docs"] == nil ? "" : ",\"doc\":{\"_id\":\"\(id)\",\"_rev\":\"1-a\"}"
                return "{\"id\":\"\(id)\",\"key\":\"\(id)\",\"value\":{\"rev\":\"1-a\"}\(document)}"
            }
            return .json(200, "{\"total_rows\":\(ids.count),\"offset\":0,\"rows\":[\(rows.joined(separator: ",\n"))]}")
        }
    }

    @Test(
        "list and export page through everything, each document once", arguments: [0, 1, 499, 500, 501, 1_000, 1_234])
    func paging(count: Int) async throws {
        let ids = (0..<count).map { "d\(100_000 + $0)" }
        try await withNode(Self.listing(ids)) { node in
            let list = await ProgramRun("list", "notes", home: node.home)
            #expect(list.output == ids.map { $0 + "\n" }.joined())
            let export = await ProgramRun("export", "notes", home: node.home)
            #expect(export.output == ids.map { "{\"_id\":\"\($0)\",\"_rev\":\"1-a\"}\n" }.joined())
        }
    }

    @Test("list takes a prefix and a limit")
    func listOptions() async throws {
        try await withNode(Self.listing(["a1", "b1", "b2", "b3", "c1"])) { node in
            #expect(await ProgramRun("list", "notes", "--prefix", "b", home: node.home).output == "b1\nb2\nb3\n")
            #expect(
                await ProgramRun("list", "notes", "--prefix", "b", "--limit", "2", home: node.home).output == "b1\nb2\n"
            )
            #expect(
                await ProgramRun("list", "notes", "--limit", "1", "--json", home: node.home).output
                    == "{\"id\":\"a1\",\"rev\":\"1-a\"}\n")
            #expect(await ProgramRun("list", "notes", "--limit", "0", home: node.home).code == 64)
        }
    }

    @Test("an export appears under its name only when it is complete")
    func exportFile() async throws {
        try await withNode(Self.listing(["a", "b"])) { node in
            let path = node.home + "/out.jsonl"
            let run = await ProgramRun("export", "notes", path, home: node.home)
            #expect(run.output == "2 documents exported to \(path)\n")
            #expect(TemporaryFolder.read(path)?.split(separator: "\n").count == 2)
        }
        let half = "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{\"rows\":[{\"id\":\"a\",\"doc\":{\"_id\":\"a\"}},"
        try await withNode({ $0.target.contains("_all_docs") ? .bytes(half) : .json(200, "{}") }) { node in
            let path = node.home + "/out.jsonl"
            #expect(await ProgramRun("export", "notes", path, home: node.home).code == 75)
            #expect(TemporaryFolder.read(path) == nil)
            #expect(access(path + ".part-\(getpid())", F_OK) != 0)
        }
    }

    @Test("a list that is cut short by the node is an error, not a short list")
    func cutList() async throws {
        try await withNode({ _ in .json(200, "{\"rows\":[{\"id\":\"a\"},") }) { node in
            #expect(await ProgramRun("list", "notes", home: node.home).code == 76)
        }
    }

    @Test("changes are printed one on a line and end with the last page")
    func changes() async throws {
        try await withNode({ request in
            request.target.contains("since=0&")
                ? .json(
                    200,
                    "{\"results\":[{\"seq\":1,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]},{\"seq\":2,\"id\":\"b\",\"changes\":[{\"rev\":\"2-b\"}],\"deleted\":true}],\"last_seq\":2}"
                ) : .json(200, "{\"results\":[],\"last_seq\":2}")
        }) { node in
            #expect(await ProgramRun("changes", "notes", home: node.home).output == "1  1-a  a\n2  2-b  b  deleted\n")
            let limited = await ProgramRun("changes", "notes", "--limit", "1", "--json", home: node.home)
            #expect(limited.output == "{\"changes\":[{\"rev\":\"1-a\"}],\"id\":\"a\",\"seq\":1}\n")
            #expect(await ProgramRun("changes", "notes", "--since", "yesterday", home: node.home).code == 64)
        }
    }

    @Test("a followed feed that ends says from where to go on")
    func follow() async throws {
        let lines = "\n{\"seq\":7,\"id\":\"a\",\"changes\":[{\"rev\":\"1-a\"}]}\n\n"
        let text =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(String(lines.utf8.count, radix: 16))\r\n\(lines)\r\n"
        for end in ["", "0\r\n\r\n"] {
            try await withNode({ _ in .bytes(text + end) }) { node in
                let run = await ProgramRun("changes", "notes", "--follow", home: node.home)
                #expect(run.code == 75)
                #expect(run.output == "7  1-a  a\n")
                #expect(run.error.contains("kith changes notes --follow --since 7"))
                let limited = await ProgramRun("changes", "notes", "--follow", "--limit", "1", home: node.home)
                #expect(limited.code == 0)
            }
        }
    }

    @Test("conflicts lists every document of every page with the command that shows it")
    func conflicts() async throws {
        let ids = (0..<450).map { "d\(1_000 + $0)" }
        try await withNode({ request in
            if request.target == "/_all_dbs" { return .json(200, "[\"notes\"]") }
            let start = request.target.split(separator: "%22").dropFirst().first.map(String.init)
            let rows = ids.filter { id in start.map { id >= $0 } ?? true }.prefix(200).map {
                "{\"id\":\"\($0)\",\"leaves\":[{\"rev\":\"2-b\",\"deleted\":false},{\"rev\":\"2-a\",\"deleted\":false},{\"rev\":\"2-0\",\"deleted\":true}]}"
            }
            return .json(200, "{\"total\":450,\"rows\":[\(rows.joined(separator: ","))]}")
        }) { node in
            let json = await ProgramRun("conflicts", "notes", "--json", home: node.home)
            #expect(json.output.split(separator: "\n").count == 450)
            let text = await ProgramRun("conflicts", "--limit", "1", home: node.home)
            #expect(
                text.output == """
                      CONFLICT      VERSIONS   SHOWN NOW
                      notes/d1000   2          2-b

                      Every device shows the same version meanwhile; no version is lost.
                        See all versions        kith conflicts show notes d1000

                    """)
        }
    }

    @Test("conflicts says of some why they were not merged by themselves")
    func conflictProblems() async throws {
        let rows = (0..<7).map {
            "{\"id\":\"d\($0)\",\"leaves\":[{\"rev\":\"2-b\",\"deleted\":false},{\"rev\":\"2-a\",\"deleted\":false}],\"problem\":\"Document d\($0) cannot be merged\u{5C}u001b\"}"
        }
        try await withNode({ _ in .json(200, "{\"total\":7,\"rows\":[\(rows.joined(separator: ","))]}") }) { node in
            let text = await ProgramRun("conflicts", "notes", home: node.home).output
            #expect(text.contains("  Document d4 cannot be merged"))
            #expect(!text.contains("Document d5 cannot be merged"))
            #expect(!text.contains("\u{1B}"))
            let json = await ProgramRun("conflicts", "notes", "--json", home: node.home).output
            #expect(json.contains("\"problem\":\"Document d6 cannot be merged"))
        }
    }

    @Test("conflicts show prints every version with its body and where it differs")
    func conflictsShow() async throws {
        try await withNode({ request in
            request.target.contains("rev=2-a")
                ? .json(200, "{\"_id\":\"list\",\"_rev\":\"2-a\",\"items\":[\"coffee\"]}")
                : .json(200, "{\"_id\":\"list\",\"_rev\":\"2-b\",\"_conflicts\":[\"2-a\"],\"items\":[\"milk\"]}")
        }) { node in
            let run = await ProgramRun("conflicts", "show", "notes/list", home: node.home)
            #expect(run.code == 0)
            for part in [
                "in conflict, 2 versions", "2-b  shown now", "2-a  differs in items", "milk", "coffee",
                "kith conflicts resolve notes/list --keep 2-a", "kith conflicts resolve notes/list --file merged.json",
            ] {
                #expect(run.output.contains(part), "\(part)")
            }
        }
    }

    @Test("the output's reader may go away")
    func closedOutput() throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        #expect(pipe(&ends) == 0)
        close(ends[0])
        defer { close(ends[1]) }
        let console = Console(
            output: DescriptorSink(ends[1]), error: MemorySink(), style: TerminalStyle(), errorIsTerminal: false)
        #expect(throws: OutputClosed.self) {
            for _ in 0..<100_000 { try console.print("a line") }
        }
    }

    @Test("an output that cannot be written is an error")
    func fullOutput() throws {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        defer { close(full) }
        let console = Console(
            output: DescriptorSink(full), error: MemorySink(), style: TerminalStyle(), errorIsTerminal: false)
        try console.print("a line")
        #expect(throws: KithError.self) { try console.flush() }
    }

    @Test("the digest is the first word of the first line")
    func digest() async throws {
        let digest = String(repeating: "0f", count: 32)
        try await withNode({ _ in
            .json(
                200,
                "{\"digest\":\"\(digest)\",\"documents\":2000,\"deleted\":1,\"revisions\":2003,\"conflicts\":2,\"update_seq\":9}"
            )
        }) { node in
            let run = await ProgramRun("db", "digest", "notes", home: node.home)
            #expect(run.output == "\(digest)\n  2,000 documents, 1 deleted, 2,003 revisions, 2 in conflict\n")
        }
    }
}
