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
