import KithDocuments
import KithStore
import KithWire
import Testing

@testable import KithReplication

@Suite("Collections of a client")
struct ClientCollectionTests {
    private let database: Database
    private let client: Stranger

    init() throws {
        database = try SessionPair.database()
        try database.writeBlocking { transaction in
            for name in ["visits", "lab.results"] { try transaction.createCollection(CollectionName(name)) }
        }
        client = try Stranger(database)
    }

    private func open(_ names: [String], checkpoint: String = "cp") throws -> BLIPMessage? {
        func list(_ texts: [String]) -> String { "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]" }
        return try client.ask(
            "getCollections", [:],
            "{\"checkpoint_ids\":\(list(names.map { _ in checkpoint })),\"collections\":\(list(names))}")
    }

    private func document(_ id: String, in name: String) throws -> String? {
        let id = try DocumentID(id)
        let name = try CollectionName(name)
        return try database.read { try $0.collection(name).document(id)?.revision.description }
    }

    @Test("each collection has its own documents, sequences and checkpoint; one that is not here is null and not made")
    func severalCollections() throws {
        #expect(try open(["_default", "lab.results", "absent", "_default.visits"])?.text == "[{},{},null,{}]")
        #expect(try !database.read { try $0.hasCollection(CollectionName("absent")) })
        for (index, name) in [("0", "_default"), ("1", "lab.results"), ("3", "visits")] {
            let answer = try client.ask("proposeChanges", ["collection": index], "[[\"doc\",\"1-a\(index)\"]]")
            #expect(answer?.text == "[0]")
            #expect(answer?.properties["collection"] == nil)
            let stored = try client.ask(
                "rev", ["collection": index, "id": "doc", "rev": "1-a\(index)", "sequence": "1", "noconflicts": "1"],
                "{}")
            #expect(stored?.kind == .response)
            #expect(try document("doc", in: name) == "1-a\(index)")
            let saved = try client.ask(
                "setCheckpoint", ["collection": index, "client": "cp", "rev": ""], "{\"local\":\(index)}")
            #expect(saved?.properties["rev"] == "1-cc")
        }
        let again = try Stranger(database)
        let body =
            "{\"checkpoint_ids\":[\"cp\",\"cp\",\"other\"],\"collections\":[\"visits\",\"_default\",\"lab.results\"]}"
        #expect(
            try again.ask("getCollections", [:], body)?.text
                == "[{\"local\":3,\"rev\":\"1-cc\"},{\"local\":0,\"rev\":\"1-cc\"},{}]")
        #expect(try again.ask("getCheckpoint", ["collection": "1", "client": "cp"])?.text == "{\"local\":0}")
        #expect(try again.ask("getCheckpoint", ["client": "cp"])?.errorName == "HTTP/400")
    }

    @Test("checkpoints beyond what an answer takes are told when they are asked for one by one")
    func largeCheckpoints() throws {
        var limits = ReplicationLimits()
        limits.checkpointBytesAnsweredMax = 150
        let text = "{\"local\":1,\"x\":\"\(String(repeating: "x", count: 80))\"}"
        for name in ["_default", "lab.results"] {
            let client = try Stranger(database)
            _ = try client.ask("getCollections", [:], "{\"checkpoint_ids\":[\"cp\"],\"collections\":[\"\(name)\"]}")
            let saved = try client.ask("setCheckpoint", ["collection": "0", "client": "cp", "rev": ""], text)
            #expect(saved?.properties["rev"] == "1-cc")
        }
        let client = try Stranger(database, limits: limits)
        let answer = try client.ask(
            "getCollections", [:], "{\"checkpoint_ids\":[\"cp\",\"cp\"],\"collections\":[\"_default\",\"lab.results\"]}"
        )
        #expect(answer?.text.hasPrefix("[{\"local\":1,") == true && answer?.text.hasSuffix("},{}]") == true)
        #expect(try client.ask("getCheckpoint", ["collection": "1", "client": "cp"])?.text == text)
    }

    @Test("a pull of several collections names each in all its messages, and status adds them up")
    func pull() throws {
        let visits = try CollectionName("visits")
        try database.writeBlocking { transaction in
            _ = try transaction.put(DocumentID("a"), body: Array("{}".utf8), parent: nil)
            for number in 0..<3 {
                _ = try transaction.collection(visits).put(
                    DocumentID("v\(number)"), body: Array("{}".utf8), parent: nil)
            }
        }
        try client.noteChange()
        client.answer = { request in
            guard request.properties["Profile"] == "changes" else { return ([:], []) }
            let count = (try? JSONValue(parsing: request.body))?.arrayValue?.count ?? 0
            return ([:], Array(("[" + Array(repeating: "[]", count: count).joined(separator: ",") + "]").utf8))
        }
        #expect(try open(["visits", "_default"])?.text == "[{},{}]")
        #expect(try client.ask("subChanges", ["collection": "0", "continuous": "true"])?.kind == .response)
        #expect(try client.ask("subChanges", ["collection": "1"])?.kind == .response)
        #expect(client.requests.allSatisfy { $0.properties["collection"] != nil })
        let revisions = client.takeRequests("rev").map {
            "\($0.properties["collection"] ?? "") \($0.properties["id"] ?? "")"
        }
        #expect(revisions == ["0 v0", "0 v1", "0 v2", "1 a"])
        #expect(client.session.status.state == .idle)
        #expect(client.session.status.toSend == 0)
        try database.writeBlocking { transaction in
            _ = try transaction.collection(visits).put(DocumentID("v9"), body: Array("{}".utf8), parent: nil)
        }
        try client.noteChange()
        #expect(client.takeRequests("rev").map { $0.properties["id"] } == ["v9"])
    }

    @Test("the first message decides, and the collection property is used rightly or not at all")
    func modes() throws {
        // Legacy.
        #expect(try client.ask("getCheckpoint", ["client": "cp", "collection": "0"])?.errorName == "HTTP/400")
        #expect(try client.ask("getCheckpoint", ["client": "cp"])?.errorName == "HTTP/404")
        #expect(try open(["_default"])?.errorName == "HTTP/400")
        #expect(try client.ask("subChanges", ["collection": "0"])?.errorName == "HTTP/400")
        #expect(try client.ask("proposeChanges", [:], "[[\"a\",\"1-aa\"]]")?.text == "[0]")
        // With collections.
        let other = try Stranger(database)
        let body = "{\"checkpoint_ids\":[\"cp\",\"cp\"],\"collections\":[\"visits\",\"absent\"]}"
        #expect(try other.ask("getCollections", [:], body)?.text == "[{},null]")
        #expect(try other.ask("getCollections", [:], body)?.errorName == "HTTP/400")
        for wrong in ["1", "2", "-1", "x", ""] {
            for profile in [
                "getCheckpoint", "setCheckpoint", "subChanges", "proposeChanges", "changes", "rev", "getAttachment",
            ] {
                let answer = try other.ask(profile, ["collection": wrong, "client": "cp"], "[]")
                #expect(answer?.errorName == "HTTP/400")
            }
        }
        #expect(try other.ask("norev", ["collection": "7", "id": "a", "rev": "1-aa"], isNoReply: true) == nil)
        #expect(try other.ask("getCheckpoint", ["client": "cp"])?.errorName == "HTTP/400")
        #expect(try other.ask("getCheckpoint", ["client": "cp", "collection": "0"])?.errorName == "HTTP/404")
        #expect(other.session.ended == nil)
    }

    @Test(
        "a request for collections that makes no sense is refused, and another one may follow",
        arguments: [
            "", "[]", "{}", #"{"collections":["_default"]}"#, #"{"collections":[],"checkpoint_ids":[]}"#,
            #"{"collections":["_default"],"checkpoint_ids":["a","b"]}"#, #"{"collections":[1],"checkpoint_ids":["a"]}"#,
            #"{"collections":["_default","_default._default"],"checkpoint_ids":["a","b"]}"#,
            #"{"collections":["_private"],"checkpoint_ids":["a"]}"#,
            #"{"collections":["a.b.c"],"checkpoint_ids":["a"]}"#,
            #"{"collections":["_default"],"checkpoint_ids":[""]}"#,
            #"{"collections":["_default"],"checkpoint_ids":[7]}"#,
        ])
    func refused(body: String) throws {
        #expect(try client.ask("getCollections", [:], body)?.errorName == "HTTP/400")
        #expect(try open(["_default"])?.text == "[{}]")
        #expect(client.session.ended == nil)
    }

    @Test("blobs of different collections are fetched with the name of theirs")
    func blobs() throws {
        client.answer = { _ in ([:], Array("hello".utf8)) }
        #expect(try open(["_default", "visits"])?.text == "[{},{}]")
        let body =
            "{\"_attachments\":{\"a\":{\"digest\":\"sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=\",\"length\":5,\"stub\":true,\"revpos\":1}}}"
        let answer = try client.ask("rev", ["collection": "1", "id": "a", "rev": "1-aa", "sequence": "1"], body)
        #expect(answer?.kind == .response)
        #expect(client.takeRequests("getAttachment").map { $0.properties["collection"] } == ["1"])
        #expect(try database.findFaults().isEmpty)
    }
}

@Suite("Collections of two Kith nodes")
struct NodeCollectionTests {
    private let visits: CollectionName
    private let results: CollectionName

    init() throws {
        visits = try CollectionName("visits")
        results = try CollectionName("lab.results")
    }

    private func expectSame(_ pair: SessionPair, _ names: [CollectionName], documents: Int) throws {
        for session in pair.sessions {
            #expect(session.ended == nil)
            #expect(session.status.state == .idle)
            #expect(session.status.toSend == 0)
            #expect(session.status.toReceive == 0)
        }
        var count = 0
        for name in names {
            let digests = try pair.databases.map { try $0.read { try $0.collection(name).digest() } }
            #expect(digests[0] == digests[1])
            count += digests[0].documents
        }
        #expect(count == documents)
        for database in pair.databases {
            #expect(try Set(database.read { try $0.collections() }) == Set(names))
            #expect(try database.findFaults().isEmpty)
        }
    }

    @Test("all collections go both ways, those that only one side has and those that are made later")
    func allCollections() throws {
        let pair = try SessionPair()
        for number in 0..<300 {
            try pair.put(0, "d-\(number)", "{}")
            try pair.put(0, "v-\(number)", "{}", in: visits)
            try pair.put(1, "r-\(number)", "{}", in: results)
        }
        try pair.run()
        try expectSame(pair, [.default, visits, results], documents: 900)
        let later = try CollectionName("later")
        let lastly = try CollectionName("lastly")
        try pair.put(0, "l", "{}", in: later)
        try pair.put(1, "m", "{}", in: lastly)
        try pair.put(1, "l", "{\"other\":1}", in: later)
        try pair.run()
        try expectSame(pair, [.default, visits, results, later, lastly], documents: 902)
    }

    @Test("each collection goes on from its own checkpoint, and with all its conflicts")
    func resumes() throws {
        let pair = try SessionPair()
        for number in 0..<50 {
            try pair.put(0, "d-\(number)", "{}")
            try pair.put(1, "v-\(number)", "{}", in: visits)
        }
        let first = try pair.put(0, "both", "{}", in: visits)
        try pair.run()
        try pair.pass(seconds: 10)
        try pair.put(0, "both", "{\"a\":1}", parent: first, in: visits)
        try pair.put(1, "both", "{\"a\":2}", parent: first, in: visits)
        try pair.connect()
        try pair.run()
        try expectSame(pair, [.default, visits], documents: 101)
        // Once, or once more while the first is being stored.
        #expect(pair.sessions.allSatisfy { (1...2).contains($0.status.revisionsSent) })
        #expect(try pair.databases[0].read { try $0.collection(visits).digest().conflicts } == 1)
    }

    @Test(
        "a connection cut at any frame loses nothing in any collection",
        arguments: [1, 2, 3, 4, 5, 6, 8, 11, 17, 40, 90])
    func cutAnywhere(frames: Int) throws {
        let pair = try SessionPair()
        for number in 0..<60 {
            try pair.put(number % 2, "d-\(number)", "{}", in: [.default, visits, results][number % 3])
        }
        try pair.run(stoppingAfterFrames: frames)
        try pair.connect()
        try pair.run()
        try expectSame(pair, [.default, visits, results], documents: 60)
    }

    @Test("windows are shared: many collections at once take no more than one", arguments: [1, 40])
    func windows(collections: Int) throws {
        var limits = ReplicationLimits()
        limits.unansweredRevisionBytesMax = 20_000
        limits.unansweredRevisionsMax = 10
        limits.awaitedRevisionsMax = 20
        limits.changesPerListMax = 5
        limits.revisionsPerReadMax = 5
        limits.fetchesMax = 1
        let pair = try SessionPair(limits: limits)
        let text = String(repeating: "x", count: 3_000)
        var names: [CollectionName] = [.default]
        for index in 0..<collections {
            names.append(try CollectionName("c\(index)"))
            for number in 0..<(200 / collections) {
                try pair.put(
                    0, "d-\(number)", "{\"t\":\"\(text)\"}", files: ["a": Array("\(index)-\(number)".utf8)],
                    in: names[index + 1])
            }
        }
        var most = (lists: 0, revisions: 0, bytes: 0, awaited: 0, fetches: 0)
        pair.onMove = {
            let (sender, receiver) = (pair.sessions[0].windows, pair.sessions[1].windows)
            most.lists = max(most.lists, sender.unansweredLists)
            most.revisions = max(most.revisions, sender.unansweredRevisions)
            most.bytes = max(most.bytes, sender.unansweredBytes)
            most.awaited = max(most.awaited, receiver.awaitedRevisions + receiver.heldRevisions)
            most.fetches = max(most.fetches, receiver.openFetches)
        }
        try pair.run()
        pair.onMove = nil
        try expectSame(pair, names, documents: 200)
        // One read, one list more than the window.
        #expect(most.lists == limits.unansweredListsMax)
        #expect(most.revisions <= 15)
        #expect(most.bytes <= 20_000 + 5 * 3_200)
        #expect(most.awaited <= 25)
        #expect(most.fetches == 1)
        let windows = pair.sessions.map(\.windows)
        #expect(
            windows.allSatisfy { $0.unansweredRevisions == 0 && $0.unansweredBytes == 0 && $0.unansweredLists == 0 })
        #expect(windows.allSatisfy { $0.awaitedRevisions == 0 && $0.heldRevisions == 0 && $0.heldBytes == 0 })
        #expect(windows.allSatisfy { $0.receivedBytes == 0 && $0.listBytes == 0 && $0.openFetches == 0 })
    }

    @Test(
        "names of collections that come before the answer that announces them are not awaited for ever",
        arguments: [true, false])
    func namesBeforeAnswer(isBefore: Bool) throws {
        let peer = try Stranger(try SessionPair.database(), role: .active, peerIsKith: true)
        var tag: UInt64 = 1
        func send(_ properties: [String: String], _ body: String) {
            tag += 1
            peer.send(properties, Array(body.utf8), isNoReply: true, tag: tag)
        }
        var isFirst = true
        peer.answer = { request in
            guard request.properties["Profile"] == "getCollections" else { return ([:], []) }
            guard isFirst else { return ([:], Array("[{}]".utf8)) }
            isFirst = false
            if isBefore { send(["Profile": "kith-collections"], #"["notes"]"#) }
            return (["kith-more": "1"], Array("[{}]".utf8))
        }
        try peer.run()
        if !isBefore {
            #expect(peer.session.status.toReceive == nil)
            send(["Profile": "kith-collections"], #"["notes"]"#)
            try peer.run()
        }
        for place in ["0", "1"] { send(["Profile": "changes", "collection": place], "[]") }
        try peer.run()
        #expect(peer.session.status.toReceive == 0)
        #expect(peer.session.status.state == .idle)
    }

    @Test("a node that knows of no collections replicates the default one")
    func olderNode() throws {
        let database = try SessionPair.database()
        try database.put("a", "{}")
        try database.writeBlocking { try $0.createCollection(CollectionName("visits")) }
        let peer = try Stranger(database, role: .active, peerIsKith: true)
        peer.answer = { request in
            switch request.properties["Profile"] {
            case "getCollections": (["Error-Domain": "BLIP", "Error-Code": "404"], [])
            case "getCheckpoint": (["Error-Domain": "HTTP", "Error-Code": "404"], [])
            case "changes": ([:], Array("[[]]".utf8))
            default: ([:], [])
            }
        }
        try peer.run()
        #expect(peer.requests.allSatisfy { $0.properties["collection"] == nil })
        #expect(peer.takeRequests("rev").map { $0.properties["id"] } == ["a"])
        #expect(peer.session.ended == nil)
        // And the other way round: it dials, and says nothing of collections.
        let older = try Stranger(database, peerIsKith: true)
        #expect(try older.ask("getCheckpoint", ["client": "cp"])?.errorName == "HTTP/404")
        #expect(try older.ask("subChanges", ["continuous": "true"])?.kind == .response)
        #expect(older.takeRequests("changes").first?.text.contains("\"a\"") == true)
        #expect(older.requests.allSatisfy { $0.properties["Profile"] != "kith-collections" })
    }

    @Test("a collection that the peer cannot make is named among what it refused, and the others go on")
    func cannotBeMade() throws {
        let database = try SessionPair.database()
        let peer = try Stranger(database, role: .active, peerIsKith: true)
        try database.writeBlocking { try $0.createCollection(CollectionName("visits")) }
        peer.answer = { request in
            request.properties["Profile"] == "getCollections" ? ([:], Array("[{},null]".utf8)) : ([:], [])
        }
        try peer.run()
        let refusals = peer.session.takeRefusals()
        #expect(refusals.map(\.collection.text) == ["visits"])
        #expect(refusals.map(\.id) == [ReplicationRefusal.wholeCollection])
        #expect(peer.takeRequests("subChanges").map { $0.properties["collection"] } == ["0"])
        #expect(peer.session.ended == nil)
        // An answer that is no list of as many ends the link.
        for wrong in ["[{}]", "{}", "nonsense"] {
            let peer = try Stranger(database, role: .active, peerIsKith: true)
            peer.answer = { _ in ([:], Array(wrong.utf8)) }
            try peer.run()
            #expect(peer.session.ended?.closeCode == 1002)
        }
    }
}
