import KithDocuments
import KithReplication
import KithStore
import Testing

@Suite("Refused documents on the next link")
struct RefusedAgainTests {
    /// Two sessions of which no side takes a document with a longer history.
    private func pair() throws -> (pair: SessionPair, newest: RevisionID) {
        var limits = ReplicationLimits()
        limits.receivedHistoryMax = 2
        let pair = try SessionPair(limits: limits)
        var newest = try pair.put(0, "bad", #"{"n":0}"#)
        for number in 1...4 { newest = try pair.put(0, "bad", #"{"n":\#(number)}"#, parent: newest) }
        try pair.put(0, "good", "{}")
        try pair.run()
        return (pair, newest)
    }

    @Test("what is refused stops nothing, is offered again, and both sides hear when it was taken", arguments: [0, 1])
    func again(pusher: Int) throws {
        var (pair, newest) = try pair()
        if pusher == 1 {
            // The other way round: the passive side sends.
            pair = try SessionPair(
                limits: {
                    var limits = ReplicationLimits(); limits.receivedHistoryMax = 2; return limits
                }())
            newest = try pair.put(1, "bad", #"{"n":0}"#)
            for number in 1...4 { newest = try pair.put(1, "bad", #"{"n":\#(number)}"#, parent: newest) }
            try pair.put(1, "good", "{}")
            try pair.run()
        }
        let other = 1 - pusher
        let (sent, received) = (pair.sessions[pusher].takeRefusals(), pair.sessions[other].takeRefusals())
        #expect(sent.map(\.id) == ["bad"] && received.map(\.id) == ["bad"])
        #expect(sent[0].isOutgoing && sent[0].side == .peer && !received[0].isOutgoing && received[0].side == .here)
        #expect(pair.sessions.allSatisfy { $0.status.state == .idle })
        #expect(try pair.databases[other].read { try $0.document(DocumentID("good")) } != nil)
        try pair.pass(seconds: 60)

        // A link on which nothing has changed: offered, and refused once more.
        var limits = ReplicationLimits()
        limits.receivedHistoryMax = 2
        let bad = try DocumentID("bad")
        try pair.connect(limits: limits)
        try pair.run()
        #expect(pair.sessions[pusher].takeRefusals().isEmpty)
        pair.sessions[pusher].noteRefused([:], retrying: [.default: [bad]], now: pair.now)
        try pair.run()
        #expect(pair.sessions[pusher].takeRefusals().map(\.id) == ["bad"])
        #expect(pair.sessions[pusher].takeAcceptances().isEmpty)
        #expect(pair.sessions.allSatisfy { $0.status.state == .idle })
        try pair.pass(seconds: 60)

        // The cause is gone.
        try pair.connect()
        pair.sessions[pusher].noteRefused([:], retrying: [.default: [bad]], now: pair.now)
        pair.sessions[other].noteRefused([.default: [bad]], retrying: [:], now: pair.now)
        try pair.run()
        let taken = (0...1).map { pair.sessions[$0].takeAcceptances() }
        #expect(taken[pusher].map(\.name) == [RevisionName(id: bad, revision: newest)])
        #expect(taken[other].map(\.name) == [RevisionName(id: bad, revision: newest)])
        #expect(taken[pusher].allSatisfy(\.isOutgoing) && !taken[other].contains(where: \.isOutgoing))
        #expect(pair.sessions.allSatisfy { $0.status.state == .idle && $0.takeRefusals().isEmpty })
        #expect(try pair.databases[0].read { try $0.digest() } == pair.databases[1].read { try $0.digest() })
        try pair.pass(seconds: 60)

        // Nothing is sent again afterwards, so no checkpoint went back.
        try pair.connect()
        try pair.run()
        #expect(pair.sessions.allSatisfy { $0.status.revisionsSent == 0 })
    }

    @Test(
        "what the peer has and cannot give is noted as refused by it, what is gone there is not", arguments: [500, 410])
    func damagedThere(code: Int) throws {
        let peer = try Stranger(try SessionPair.database(), peerIsKith: true)
        try peer.ask("changes", [:], #"[[1,"bad","1-aa"]]"#)
        try peer.ask("norev", ["id": "bad", "rev": "1-aa", "error": String(code)], isNoReply: true)
        let refusals = peer.session.takeRefusals()
        #expect(refusals.map(\.id) == (code == 500 ? ["bad"] : []))
        #expect(refusals.allSatisfy { $0.side == .peer && !$0.isOutgoing && $0.code == 500 })
        #expect(peer.session.status.refusals == refusals.count)
    }

    @Test("a document that has changed meanwhile is sent in its turn, once")
    func changed() throws {
        let (pair, newest) = try pair()
        try pair.pass(seconds: 60)
        pair.sessions[0].databaseChanged(lastSequence: 0, now: pair.now)
        let id = try DocumentID("bad")
        _ = try pair.databases[0].writeBlocking { try $0.put(id, body: Array("{}".utf8), parent: newest) }
        try pair.connect()
        pair.sessions[0].noteRefused([:], retrying: [.default: [id]], now: pair.now)
        try pair.run()
        #expect(pair.sessions[0].status.revisionsSent == 1)
        #expect(pair.sessions[0].takeAcceptances().count == 1)
        #expect(try pair.databases[0].read { try $0.digest() } == pair.databases[1].read { try $0.digest() })
    }
}
