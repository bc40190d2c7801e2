import Glibc
import KithDocuments
import Testing

@testable import KithTrust

@Suite("Renewing certificates and rotating keys")
struct RotationTests {
    @Test("peers follow a new key, also over several, and refuse the old ones")
    func followed() throws {
        let nodes = try Site.of("a", "b", "off")
        let (a, b, off) = (nodes[0], nodes[1], nodes[2])
        let first = a.id
        try b.book.setSharing(first, of: nil) { $0.access = .read }
        try a.rotate()
        #expect(a.id != first && a.identity.formerIDs == [first])
        #expect(!b.trusts(a))
        try Site.meet(a, b)
        #expect(b.trusts(a) && b.book.peer(first) == nil)
        #expect(b.book.peer(a.id)?.name == "a" && b.book.peer(a.id)?.sharing.access == .read)
        let second = a.id
        try a.rotate()
        // off meets b first, which has followed one step, and then a itself.
        try Site.meet(b, off)
        #expect(off.book.peer(second) != nil)
        try Site.meet(a, off)
        try off.restart()
        #expect(off.trusts(a) && off.book.peer(a.id)?.formerIDs == [first, second])
        // Played back, the old ones change nothing.
        #expect(try off.book.receive(a.identity.rotations.map(\.bytes)).effects.isEmpty)
    }

    @Test("both rotate while they are apart, and follow each other when they meet")
    func both() throws {
        let nodes = try Site.of("a", "b")
        for node in nodes { try node.rotate() }
        try Site.meet(nodes[0], nodes[1])
        #expect(nodes[0].trusts(nodes[1]) && nodes[1].trusts(nodes[0]))
    }

    @Test("a revoked key leads nowhere, and who is revoked does not get away by another key")
    func revoked() throws {
        let nodes = try Site.of("a", "b", "thief", "d")
        let (a, b, thief, d) = (nodes[0], nodes[1], nodes[2], nodes[3])
        let first = thief.id
        try a.revoke(first)
        try Site.meet(a, b)
        try thief.rotate()
        #expect(try b.book.receive(thief.identity.rotations.map(\.bytes)).effects.isEmpty)
        #expect(!b.trusts(thief))
        // d had followed it before it heard of the revocation, which names the old key.
        try Site.meet(thief, d)
        #expect(d.trusts(thief))
        try Site.meet(a, d)
        #expect(!d.trusts(thief) && d.book.revokedPeer(thief.id) != nil)
        // Somebody who has paired only the new key learns which machine it is.
        let late = try Site.of("late", "helper")[0]
        try late.book.add(thief.id, name: "nice", method: .number)
        try late.book.add(a.id, name: "a", method: .number)
        _ = try late.book.receive(a.tells(late) + thief.identity.rotations.map(\.bytes))
        let again = try a.identity.revocation(of: first, reason: "", seconds: 1_900_000_000).bytes
        #expect(try late.book.receive([again]).effects.count == 1)
        #expect(!late.trusts(thief))
        // Also where the one who has revoked it is not in the book any more.
        try b.book.remove(a.id)
        try b.book.add(thief.id, name: "nice", method: .number)
        #expect(try b.book.receive(thief.identity.rotations.map(\.bytes)).effects.count == 1)
        #expect(!b.trusts(thief))
    }

    @Test("one key has one successor, and never becomes good again")
    func oneSuccessor() throws {
        let nodes = try Site.of("a", "b")
        let (a, b) = (nodes[0], nodes[1])
        let copy = TemporaryFolder()
        let other = try NodeIdentity.create(inFolder: copy.path + "/identity", name: "a")
        let old = a.identity
        try a.rotate()
        try Site.meet(a, b)
        let second = try old.rotation(to: other, seconds: 1).bytes
        let peer = try #require(b.book.peer(a.id))
        let third = try old.rotation(to: other, seconds: 2).bytes
        #expect(try b.book.receive([second, third]).effects == [.twoSuccessors(peer, other: other.nodeID)])
        #expect(b.book.peer(other.nodeID) == nil && b.trusts(a))
        let back = try a.identity.rotation(to: old, seconds: 9).bytes
        #expect(try b.book.receive([back]).effects.isEmpty)
        #expect(b.trusts(a) && b.book.peer(old.nodeID) == nil)
        // Not by a person's mistake either.
        try b.book.add(other.nodeID, name: "other")
        expectError(.conflict) { try b.book.add(old.nodeID, name: "old") }
        expectError(.conflict) { try b.book.replaceKey(of: other.nodeID, by: old.nodeID) }
        // Who has the key that this node has now can say the same of this node.
        let stolen = try a.identity.rotation(to: other, seconds: 1).bytes
        #expect(try a.book.receive([stolen]).effects == [.ownKeyReplaced(by: other.nodeID)])
    }

    @Test("a new key that a person has paired already is one peer with the old one")
    func pairedBefore() throws {
        let nodes = try Site.of("a", "b")
        let (a, b) = (nodes[0], nodes[1])
        let first = a.id
        try a.rotate()
        try b.book.add(a.id, name: "new a", method: .number)
        try Site.meet(a, b)
        #expect(b.book.peers.map(\.name) == ["new a"])
        #expect(b.book.peer(a.id)?.formerIDs == [first])
    }

    @Test("what a node has said is said again under its new key, and under the old one no more")
    func signedAnew() throws {
        let nodes = try Site.of("a", "b", "c", "d")
        let (a, b, c, d) = (nodes[0], nodes[1], nodes[2], nodes[3])
        let old = a.identity
        try a.revoke(c.id)
        try a.rotate()
        #expect(a.tells(d).count == 2)
        try Site.meet(a, b)
        #expect(!b.trusts(c))
        // A former key says nothing that counts.
        let forged = try old.revocation(of: d.id, reason: "", seconds: 1).bytes
        #expect(try b.book.receive([forged]).effects.isEmpty)
        #expect(b.trusts(d))
        try Site.meet(b, d)
        #expect(!d.trusts(c) && d.trusts(a))
    }

    @Test("the new key is private from its first moment, and the old one is gone")
    func files() throws {
        let a = try Site.Member("a")
        let path = a.folder.path
        try a.book.add(NodeID(subjectPublicKeyHash: [UInt8](repeating: 1, count: 32)), name: "x")
        let old = TemporaryFolder.read(path + "/identity/key.pem")
        // A renewal that a crash has ended is in nobody's way.
        TemporaryFolder.write(path + "/identity/certificate.pem.partial", "half".utf8)
        try a.rotate()
        #expect(a.folder.names == ["identity", "peers.json"])
        #expect(TemporaryFolder.read(path + "/identity/key.pem") != old)
        for file in ["key.pem", "certificate.pem", "rotations"] {
            #expect(TemporaryFolder.mode(path + "/identity/" + file) == 0o600)
        }
        // What a crash has left is swept away: a key that is not used yet, or one that is used no more.
        mkdir(path + "/identity.partial", 0o700)
        TemporaryFolder.write(path + "/identity.partial/key.pem", "a key".utf8)
        NodeIdentity.sweep(besideFolder: path + "/identity")
        #expect(a.folder.names == ["identity", "peers.json"])
        // What is not Kith's is not removed.
        mkdir(path + "/identity.partial", 0o700)
        TemporaryFolder.write(path + "/identity.partial/notes", "mine".utf8)
        expectError(.badConfiguration) {
            try NodeIdentity.rotateKey(inFolder: path + "/identity", name: "a", seconds: 1)
        }
        #expect(TemporaryFolder.read(path + "/identity.partial/notes") == Array("mine".utf8))
        // A chain that does not lead to the key is damage.
        let rotations = TemporaryFolder.read(path + "/identity/rotations")
        let other = try Site.Member("b")
        TemporaryFolder.write(other.folder.path + "/identity/rotations", rotations)
        expectError(.damaged) { try NodeIdentity.load(fromFolder: other.folder.path + "/identity") }
    }

    @Test("a renewed certificate has the same key")
    func renewed() throws {
        let a = try Site.Member("a")
        let path = a.folder.path + "/identity"
        let new = try NodeIdentity.renewCertificate(inFolder: path, name: "a")
        #expect(new.nodeID == a.id && new.certificatePEM != a.identity.certificatePEM)
        let year: Int64 = 365 * 86_400
        let end = new.validThroughSeconds
        #expect(!new.isToBeRenewed(atSeconds: end - 11 * year) && new.isToBeRenewed(atSeconds: end - 9 * year))
        #expect(new.isToBeRenewed(atSeconds: .max - 5))
    }
}
