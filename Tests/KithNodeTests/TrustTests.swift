import KithDocuments
import KithTransport
import KithTrust
import Testing

@testable import KithNode

@Suite("Telling of keys over real TLS", .timeLimit(.minutes(60)))
@LoopActor
struct TrustTests {
    typealias Running = NodeTests.Running

    private static let lost = NodeID(subjectPublicKeyHash: [UInt8](repeating: 7, count: 32))

    @Test("who does not trust this node when it is told is told again when it does")
    func toldBeforeTrust() async throws {
        let name = try DatabaseName("clinic")
        let b = try await Running("b", trusting: [Self.lost])
        let a = try await Running("a", peers: ["127.0.0.1:\(b.node.port)"], trusting: [Self.lost, b.id])
        for node in [a, b] { try await node.node.createDatabase(name) }
        try a.node.revoke(Self.lost)
        await a.lines.until { $0.contains("could not be told of keys") }
        #expect(!a.node.trustManager.isTold(b.id) && b.home.peerBook.peer(Self.lost) != nil)
        try b.node.trust(a.id, name: "a")
        a.node.links.hurry(b.id)
        await b.until { _ in b.home.peerBook.revokedPeer(Self.lost) != nil }
        await a.until { _ in a.node.trustManager.isTold(b.id) }
        await a.node.stop()
        await b.node.stop()
    }

    @Test("a peer that cannot be dialled is asked to dial, also where an address of it seems to be known")
    func undialable() async throws {
        let name = try DatabaseName("clinic")
        let a = try await Running("a", peers: ["127.0.0.1:1"], trusting: [Self.lost])
        let b = try await Running("b", peers: ["127.0.0.1:\(a.node.port)"], trusting: [Self.lost, a.id])
        try a.node.trust(b.id, name: "b")
        for node in [a, b] { try await node.node.createDatabase(name) }
        await a.until { $0.peers.contains { $0.state == .inSync } }
        try a.node.revoke(Self.lost)
        await b.until { _ in b.home.peerBook.revokedPeer(Self.lost) != nil }
        await a.node.stop()
        await b.node.stop()
    }

    @Test(
        "what was seen of keys stands over a restart until a person decides, and nobody can have it written again and again"
    )
    func lastingAlarms() async throws {
        let a = try await Running("a", trusting: [Self.lost])
        let other = NodeID(subjectPublicKeyHash: [UInt8](repeating: 8, count: 32))
        let third = NodeID(subjectPublicKeyHash: [UInt8](repeating: 9, count: 32))
        a.node.keyAlarms.noteOwnKey(address: "192.168.1.77:4984", seconds: 1_000)
        a.node.keyAlarms.noteOwnSuccessor(other)
        a.node.keyAlarms.noteTwoSuccessors(of: Self.lost, other: other)
        a.node.keyAlarms.noteTwoSuccessors(of: third, other: other)
        let path = a.home.path + "/alarms.json"
        let kept = try HomeFile.read(path, bytesMax: 10_000)
        a.node.keyAlarms.noteOwnKey(address: "192.168.1.78:4984", seconds: 2_000)
        a.node.keyAlarms.noteTwoSuccessors(of: Self.lost, other: third)
        #expect(try HomeFile.read(path, bytesMax: 10_000) == kept)
        await a.node.stop()
        let again = try await Running("a", home: a.home)
        let codes = { @LoopActor in again.node.trustProblems.map(\.code).sorted() }
        #expect(codes() == ["key-disputed", "key-replaced", "key-shared"])
        // Of who is no peer nothing is said.
        #expect(Array(again.node.keyAlarms.twoSuccessors.keys) == [Self.lost])
        try again.node.noteVerified(Self.lost)
        #expect(codes() == ["key-replaced", "key-shared"])
        again.node.settleKey()
        #expect(codes().isEmpty)
        await again.node.stop()
        // What was seen of a key that this node has no more is over, and a file that is none is none.
        let isPeer = { (id: NodeID) in id == Self.lost }
        let after = try LastingAlarms(parsing: kept, ownID: other, isPeer: isPeer)
        #expect(after.ownKey == nil && after.ownSuccessor == nil && after.twoSuccessors == [Self.lost: other])
        for text in ["", "{}", #"{"format":2,"key":"\(other)"}"#, #"{"format":1,"key":"x"}"#] {
            #expect(throws: KithError.self) {
                _ = try LastingAlarms(parsing: Array(text.utf8), ownID: other, isPeer: isPeer)
            }
        }
    }

    @Test("strangers at one address begin exchanges with pauses, those at others at once")
    func strangers() {
        var pace = StrangerPace()
        func begun(_ group: String, _ count: Int, at seconds: Double) -> Int {
            (0..<count).count { _ in pace.mayBegin(group, atSeconds: seconds) }
        }
        #expect(begun("10.0.0.1", 1_000, at: 5) == NodeLimits.trustStrangersAtOnce)
        #expect(begun("10.0.0.2", 1, at: 5) == 1)
        #expect(begun("10.0.0.1", 1_000, at: 15) == 10)
        // Many addresses take no more room, and a new one is heard.
        for number in 0..<(2 * NodeLimits.nearbyMax) {
            let count = begun("\(number)", 1, at: 15)
            #expect(count == 1)
        }
    }

    @Test("a revoked machine that uses a code is named as one, on whichever side it is revoked")
    func invitingRevoked() async throws {
        let (a, b) = (try await Running("a"), try await Running("b"))
        try a.node.trust(b.id, name: "laptop")
        try a.node.revoke(b.id, reason: "lost")
        try b.node.trust(a.id, name: "desk")
        try b.node.revoke(a.id, reason: "stolen")
        let (invitation, code) = try await a.node.invitations.invite(terms: nil, seconds: 60)
        let candidates = try b.node.invitationCandidates("127.0.0.1:\(a.node.port)")
        let join = try await b.node.invitations.use(code, with: candidates)
        await a.until { _ in invitation.state == .used }
        await b.until { _ in join.isOver }
        #expect(invitation.json["revocation"]?["reason"]?.stringValue == "lost")
        #expect(join.json["revocation"]?["reason"]?.stringValue == "stolen")
        await a.lines.until { $0.contains("was revoked by this node; the code has let it in again") }
        await a.node.stop()
        await b.node.stop()
    }

    @Test("a revoked machine that asks to pair is shown as what it was")
    func pairingRevoked() async throws {
        let (a, b) = (try await Running("a"), try await Running("b"))
        try a.node.trust(b.id, name: "laptop")
        try a.node.revoke(b.id, reason: "lost")
        _ = try b.node.pairing.ask([try SocketAddress(parsing: "127.0.0.1:\(a.node.port)")])
        await a.until { _ in a.node.pairing.all.contains(where: \.awaitsAcceptance) }
        #expect(a.node.pairing.all.first?.json["revocation"]?["reason"]?.stringValue == "lost")
        await a.node.stop()
        await b.node.stop()
    }
}
