import KithDocuments
import KithReplication
import KithStore
import KithTransport
import KithTrust
import Testing

@testable import KithNode

@Suite("Names of checkpoints")
struct CheckpointNameTests {
    private func id(_ byte: UInt8) -> NodeID { NodeID(subjectPublicKeyHash: Array(repeating: byte, count: 32)) }

    @Test("a database that was copied to another node by hand has a checkpoint of its own at each peer")
    @LoopActor func namesBothNodes() throws {
        let database = try Database(path: ":memory:", name: DatabaseName("notes"), create: true)
        let copies: [(own: NodeID, peer: NodeID)] = [(id(1), id(2)), (id(3), id(2)), (id(1), id(3)), (id(2), id(1))]
        let names = copies.map { PeerLink.checkpointName(of: database, at: $0.peer, by: $0.own) }
        #expect(Set(names).count == names.count)
        for name in names { #expect(name.contains(database.privateID)) }
        database.close()
    }

    @Test("a filter has a checkpoint of its own, and its name fits")
    @LoopActor func namesFilter() throws {
        let database = try Database(path: ":memory:", name: DatabaseName("notes"), create: true)
        let names = ["", "a", String(repeating: "long ", count: 1_000)].map { name in
            PeerLink.checkpointName(
                of: database, at: id(2), by: id(1), filterTag: PushFilter(name: name) { _ in true }.tag)
        }
        #expect(Set(names + [PeerLink.checkpointName(of: database, at: id(2), by: id(1))]).count == 4)
        #expect(names.allSatisfy { $0.utf8.count <= ReplicationLimits().checkpointNameBytesMax })
        database.close()
    }
}
