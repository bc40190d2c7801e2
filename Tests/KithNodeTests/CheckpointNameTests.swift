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

    @Test("certain documents have a checkpoint of their own, another for each choice and direction")
    @LoopActor func namesDocuments() throws {
        let database = try Database(path: ":memory:", name: DatabaseName("notes"), create: true)
        func name(_ ids: [String]?, _ directions: ReplicationDirections) throws -> String {
            PeerLink.checkpointName(
                of: database, at: id(2), by: id(1), documentIDs: try ids.map { Set(try $0.map { try DocumentID($0) }) },
                directions)
        }
        let names = [
            try name(nil, .both), try name(["a"], .both), try name(["a"], .send), try name(["b"], .both),
            try name(["a", "b"], .both), try name(["ab"], .both), try name([], .both),
        ]
        #expect(Set(names).count == names.count)
        #expect(try name(["b", "a"], .both) == name(["a", "b"], .both))
        // All documents have one, whatever the direction: what is off stays where it was.
        #expect(try name(nil, .send) == name(nil, .both))
        let filtered = PeerLink.checkpointName(
            of: database, at: id(2), by: id(1), documentIDs: [try DocumentID("a")], .both, filterTag: "0123456789abcdef"
        )
        #expect(!names.contains(filtered))
        let limit = ReplicationLimits().checkpointNameBytesMax
        #expect(filtered.utf8.count <= limit)
        #expect(names.allSatisfy { $0.utf8.count <= limit })
        database.close()
    }
}
