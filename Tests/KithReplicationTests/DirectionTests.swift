import KithDocuments
import KithReplication
import KithStore
import KithWire
import Testing

@Suite("Directions: what may travel on a link")
struct DirectionTests {
    /// What the two ends allow, and what travels then from the first (active) one.
    struct Case: Sendable, CustomStringConvertible {
        let active: ReplicationDirections
        let passive: ReplicationDirections
        var effective: ReplicationDirections { active.intersection(passive.reversed) }
        var description: String { "\(active.name) and \(passive.name)" }

        static let all: [Case] = {
            let each: [ReplicationDirections] = [.both, .send, .receive, []]
            return each.flatMap { active in each.map { Case(active: active, passive: $0) } }
        }()
    }

    @Test(
        "what one end does not give or the other does not take stays where it is, and the link is idle",
        arguments: Case.all)
    func travels(_ ends: Case) throws {
        let pair = try SessionPair(directions: [ends.active, ends.passive])
        let notes = try CollectionName("notes")
        try pair.put(0, "from-active", #"{"n":1}"#, files: ["a": [1, 2, 3]])
        try pair.put(0, "from-active", #"{"n":1}"#, in: notes)
        try pair.put(1, "from-passive", #"{"n":2}"#)
        try pair.put(1, "from-passive", #"{"n":2}"#, in: try CollectionName("tasks"))
        try pair.run()
        // And what comes later, also in collections that are new then.
        try pair.put(0, "later-active", #"{"n":3}"#, in: try CollectionName("new-a"))
        try pair.put(1, "later-passive", #"{"n":4}"#, in: try CollectionName("new-p"))
        try pair.put(0, "later-active", #"{"n":5}"#)
        try pair.put(1, "later-passive", #"{"n":6}"#)
        try pair.run()
        try pair.pass(seconds: 10)

        for (index, flows) in [ends.effective.contains(.receive), ends.effective.contains(.send)].enumerated() {
            let others = index == 0 ? ["from-passive", "later-passive"] : ["from-active", "later-active"]
            let collections = index == 0 ? ["tasks", "new-p"] : ["notes", "new-a"]
            let found = try pair.databases[index].read { snapshot in
                (
                    try others.map { try snapshot.document(DocumentID($0)) != nil },
                    try collections.map { try snapshot.hasCollection(CollectionName($0)) }
                )
            }
            #expect(found.0 == [flows, flows])
            #expect(found.1 == [flows, flows], "names of collections are for who may read")
        }
        for (index, session) in pair.sessions.enumerated() {
            #expect(session.ended == nil)
            #expect(session.status.state == .idle)
            #expect(session.status.toSend == 0)
            #expect(session.status.toReceive == 0)
            #expect(session.status.refusals == 0)
            #expect(session.status.directions == (index == 0 ? ends.effective : ends.effective.reversed))
        }
        // When everything is allowed, the rest follows: no checkpoint has passed it over.
        pair.directions = [.both, .both]
        try pair.connect()
        try pair.run()
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
        for name in ["notes", "tasks", "new-a", "new-p"] {
            let collection = try CollectionName(name)
            let counts = try pair.databases.map { try $0.read { try $0.collection(collection).digest() } }
            #expect(counts[0] == counts[1])
        }
    }

    @Test("a client that may only read is in sync when it has asked for what is here, not before")
    func readOnlyClient() throws {
        let client = try Stranger(try SessionPair.database(), directions: .send)
        try client.ask("getCheckpoint", ["client": "phone"])
        #expect(client.session.status.state == .busy)
        try client.ask("subChanges", ["continuous": "true"])
        #expect(client.session.status.state == .idle)
    }

    @Test("a direction that is taken back and given again goes on where it was")
    func goesOn() throws {
        let pair = try SessionPair()
        for number in 0..<50 { try pair.put(0, "a-\(number)", "{}") }
        try pair.run()
        try pair.pass(seconds: 10)
        pair.directions = [.both, [.send]]
        try pair.connect()
        try pair.run()
        try pair.put(0, "later", "{}")
        try pair.put(1, "back", "{}")
        try pair.run()
        try pair.pass(seconds: 10)
        #expect(try pair.databases[1].winner("later") == nil)
        #expect(try pair.databases[0].winner("back") != nil)
        pair.directions = [.both, .both]
        try pair.connect()
        try pair.run()
        #expect(pair.sessions[0].status.revisionsSent == 1)
        let digests = try pair.digests()
        #expect(digests[0] == digests[1])
    }

    // MARK: Peers that ask all the same

    private func reason(_ message: BLIPMessage?) -> String? {
        message?.error.map { "\($0.domain) \($0.code) \($0.message)" }
    }

    @Test("who may not read is answered 403 to subChanges, and gets no attachment", arguments: [true, false])
    func mayNotRead(peerIsKith: Bool) throws {
        let database = try SessionPair.database()
        try database.insert("a", "1-aa")
        let digest = try database.writeBlocking { try $0.addBlob([1, 2, 3]).digest }
        let peer = try Stranger(database, peerIsKith: peerIsKith, directions: [.receive])
        let refused = "HTTP 403 this node does not let its peer read the database"
        #expect(reason(try peer.ask("subChanges", ["continuous": "true"])) == refused)
        #expect(reason(try peer.ask("subChanges", [:], #"{"docIDs":["a"]}"#)) == refused)
        let properties = ["digest": digest.description, "docID": "a"]
        #expect(try peer.ask("getAttachment", properties)?.error?.code == 403)
        #expect(try peer.ask("proveAttachment", properties, "nonce")?.error?.code == 404)
        try peer.noteChange()
        #expect(peer.takeRequests("changes").isEmpty)
        // It may write.
        #expect(try peer.ask("rev", ["id": "b", "rev": "1-bb"], "{}")?.error == nil)
        #expect(try database.read { try $0.document(DocumentID("b")) } != nil)
        #expect(peer.session.ended == nil)
    }

    @Test("who may not write is answered 403 to all that would, and nothing of it is stored", arguments: [true, false])
    func mayNotWrite(peerIsKith: Bool) throws {
        let database = try SessionPair.database()
        try database.insert("a", "1-aa")
        let peer = try Stranger(database, peerIsKith: peerIsKith, directions: [.send])
        let refused = "HTTP 403 this node does not let its peer write to the database"
        #expect(reason(try peer.ask("changes", [:], #"[[1,"b","1-bb"]]"#)) == refused)
        #expect(reason(try peer.ask("proposeChanges", [:], #"[["b","1-bb"]]"#)) == refused)
        #expect(reason(try peer.ask("rev", ["id": "b", "rev": "1-bb"], "{}")) == refused)
        #expect(try peer.ask("norev", ["id": "b", "rev": "1-bb"], isNoReply: true) == nil)
        #expect(try peer.ask("changes", [:], "[]", isNoReply: true) == nil)
        #expect(try database.read { try $0.document(DocumentID("b")) } == nil)
        #expect(peer.session.takeRefusals().isEmpty)
        // It may read.
        try peer.noteChange()
        #expect(try peer.ask("subChanges")?.error == nil)
        #expect(peer.takeRequests("changes").first?.text == #"[[1,"a","1-aa"]]"#)
        #expect(peer.session.ended == nil)
    }

    @Test("a peer that says 403 to a list of changes or to subChanges is taken at its word, and the link goes on")
    func peerSaysNo() throws {
        let database = try SessionPair.database()
        try database.insert("a", "1-aa")
        let peer = try Stranger(database, role: .active, peerIsKith: false)
        peer.answer = { request in
            let isRefused = ["changes", "subChanges"].contains(request.properties["Profile"])
            return (isRefused ? ["Error-Domain": "HTTP", "Error-Code": "403"] : [:], [])
        }
        try peer.noteChange()
        #expect(peer.session.ended == nil)
        #expect(peer.session.status.directions == [])
        #expect(peer.session.status.state == .idle)
        #expect(peer.session.status.toSend == 0)
        // What the peer did not take is not said to be there.
        #expect(peer.session.status.sentThrough[.default] == 0)
        try database.insert("b", "1-bb")
        _ = peer.takeRequests("changes")
        try peer.noteChange()
        #expect(peer.takeRequests("changes").isEmpty)
        #expect(peer.session.takeRefusals().isEmpty)
    }
}
