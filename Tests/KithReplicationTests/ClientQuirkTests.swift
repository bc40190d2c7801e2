import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

/// What other implementations of the protocol do, where it would be easy to do something else.
@Suite("Quirks of clients")
struct ClientQuirkTests {
    private let database: Database
    private let client: Stranger

    init() throws {
        database = try SessionPair.database()
        client = try Stranger(database)
    }

    @Test("a client that does not say how long histories may be gets whole ones, and none is left out for another")
    func historyLength() throws {
        try database.insert("doc", "4-dd", history: ["3-cc", "2-bb", "1-aa"])
        for (properties, expected) in [
            ([:], "3-cc,2-bb,1-aa"), (["maxHistory": "nonsense"], "3-cc,2-bb,1-aa"), (["maxHistory": "0"], "3-cc"),
            (["maxHistory": "-5"], "3-cc"), (["maxHistory": "3"], "3-cc,2-bb"),
        ] {
            let client = try Stranger(database)
            client.answer = { $0.properties["Profile"] == "changes" ? (properties, Array("[[]]".utf8)) : ([:], []) }
            try client.ask("subChanges")
            #expect(client.takeRequests("rev").first?.properties["history"] == expected)
        }
    }

    @Test("what a client pushed long ago is known although it was pruned, and its edit of it is a conflict and no more")
    func prunedProposal() throws {
        try database.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: 2)) }
        for generation in 1...9 {
            try database.insert("doc", "\(generation)-aa", history: generation > 1 ? ["\(generation - 1)-aa"] : [])
        }
        let answer = try client.ask(
            "proposeChanges", ["conflictIncludesRev": "true"],
            #"[["doc","3-aa","2-aa"],["doc","3-aa"],["doc","4-bb","3-aa"],["doc","10-aa","9-aa"]]"#)
        #expect(answer?.text == #"[304,304,{"status":409,"rev":"9-aa"},0]"#)
        let late = try client.ask(
            "rev", ["id": "doc", "rev": "4-bb", "history": "3-aa", "sequence": "1", "noconflicts": "1"], "{}")
        #expect(late?.errorName == "HTTP/409")
        #expect(try database.leaves("doc") == ["9-aa"])
        // Once more after all: it is there.
        let again = try client.ask("rev", ["id": "doc", "rev": "3-aa", "sequence": "1", "noconflicts": "1"], "{}")
        #expect(again?.kind == .response)
        #expect(try database.leaves("doc") == ["9-aa"])
    }

    @Test("nothing counts as sent before its revision is answered")
    func unanswered() throws {
        try database.insert("doc", "1-aa")
        try client.noteChange()
        client.answer = { $0.properties["Profile"] == "changes" ? ([:], Array("[[]]".utf8)) : nil }
        try client.ask("subChanges", ["continuous": "true"])
        #expect(client.takeRequests("rev").count == 1)
        #expect(client.session.status.toSend == 1)
        #expect(client.session.status.sentThrough[.default] == 0)
        #expect(client.session.status.state != .idle)
        #expect(!client.takeRequests("changes").contains { $0.text == "[]" })
    }

    @Test("a revision whose delta was declined is waited for until the whole one has come, without a new announcement")
    func delta() throws {
        try database.insert("doc", "1-aa")
        #expect(try client.ask("changes", [:], #"[[7,"doc","2-bb"]]"#)?.text == #"[["1-aa"]]"#)
        let properties = ["id": "doc", "rev": "2-bb", "history": "1-aa", "sequence": "7"]
        let delta = try client.ask("rev", properties.merging(["deltaSrc": "1-aa"]) { $1 }, #"{"n":1}"#)
        #expect(delta?.errorName == "HTTP/422")
        try client.ask("changes", [:], "[]", isNoReply: true)
        #expect(client.session.status.toReceive == 1)
        #expect(client.session.takeRefusals().isEmpty)
        #expect(try client.ask("rev", properties, #"{"n":1}"#)?.kind == .response)
        #expect(client.session.status.toReceive == 0)
        #expect(try database.winner("doc") == #"2-bb {"n":1}"#)
    }

    @Test("a document that the peer has lost access to is not asked for, and is no refusal")
    func lostAccess() throws {
        try database.insert("here", "1-aa")
        let answer = try client.ask(
            "changes", [:],
            #"[["1","a","1-aa",2],["2","b","2-bb",3],["3","c","1-aa",4],["4","d","2-dd",5],["5","here","2-bb",4]]"#)
        #expect(answer?.text == "[0,0,0,[],0]")
        #expect(client.session.takeRefusals().isEmpty)
        #expect(try database.winner("here") == "1-aa {}")
    }

    @Test("a checkpoint that cannot be read or written is answered all the same, and the link goes on")
    func checkpointFails() throws {
        client.store = { request in
            switch request {
            case .readLocal, .writeCheckpoint: .failed(KithError(.inputOutput, "the disk does not answer"))
            default: nil
            }
        }
        #expect(try client.ask("getCheckpoint", ["client": "cp-a"])?.errorName == "HTTP/502")
        #expect(try client.ask("setCheckpoint", ["client": "cp-a", "rev": ""], "{}")?.errorName == "HTTP/502")
        client.store = { _ in nil }
        #expect(try client.ask("setCheckpoint", ["client": "cp-a"], "{}")?.properties["rev"] == "1-cc")
        #expect(client.session.ended == nil)
    }

    @Test("what is wrong with the beginning of a replication is told in the domain that is not fatal to every client")
    func setUpErrors() throws {
        for (profile, properties, body) in [
            ("getCheckpoint", [:], ""), ("getCheckpoint", ["client": ""], ""), ("setCheckpoint", [:], "{}"),
            ("setCheckpoint", ["client": "a"], "nonsense"), ("setCheckpoint", ["client": "a", "rev": "x"], "{}"),
            ("subChanges", [:], "nonsense"), ("changes", [:], "nonsense"), ("proposeChanges", [:], "nonsense"),
            ("changes", ["collection": "0"], "[]"), ("getCollections", [:], "{}"), ("rev", [:], "{}"),
        ] as [(String, [String: String], String)] {
            let domain = try client.ask(profile, properties, body)?.error?.domain
            #expect(domain == "HTTP", "\(profile)")
        }
        #expect(client.session.ended == nil)
    }

    @Test("changes may come before the answer to the subscription, and `null` is the end of them")
    func earlyChanges() throws {
        for end in ["null", "[]"] {
            let database = try SessionPair.database()
            let peer = try Stranger(database, role: .active)
            peer.answer = { request in
                switch request.properties["Profile"] {
                case "getCheckpoint", "getCollections": (["Error-Domain": "HTTP", "Error-Code": "404"], [])
                case "subChanges": nil
                default: ([:], [])
                }
            }
            try peer.run()
            #expect(peer.takeRequests("subChanges").count == 1)
            let answer = try peer.ask("changes", ["Content-Type": "application/json"], #"[["1:2","doc","1-aa"]]"#)
            #expect(answer?.text == "[[]]")
            let stored = try peer.ask(
                "rev", ["id": "doc", "rev": "1-aa", "sequence": "\"1:2\"", "Content-Type": "application/json"], "{}")
            #expect(stored?.kind == .response)
            try peer.ask("changes", [:], end, isNoReply: true)
            // Once more does no harm.
            try peer.ask("changes", [:], end)
            #expect(peer.session.status.toReceive == 0)
            #expect(try database.winner("doc") == "1-aa {}")
            #expect(peer.session.ended == nil)
        }
    }
}
