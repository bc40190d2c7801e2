import KithDocuments
import Testing

@testable import KithTrust

@Suite("Revoking")
struct RevocationTests {
    @Test("a revocation is passed on, holds after a restart, and says who and why")
    func passedOn() throws {
        let nodes = try Site.of("a", "b", "c", "d")
        let (a, b, c, d) = (nodes[0], nodes[1], nodes[2], nodes[3])
        #expect(try a.revoke(c.id).revocation?.isOwn == true)
        #expect(!a.trusts(c) && a.book.revokedPeer(c.id) != nil)
        try Site.meet(a, b)
        #expect(!b.trusts(c))
        // a is off from here on; b tells d.
        let effects = try Site.meet(b, d)
        #expect(effects.count == 1 && !d.trusts(c))
        try d.restart()
        let said = d.book.revokedPeer(c.id)?.revocation
        #expect(!d.trusts(c))
        #expect(said == PeerRevocation(by: a.id, byName: "a", seconds: 1_800_000_000, reason: "lost"))
        // c is told why nobody talks to it, and nothing else.
        try b.book.remove(d.id)
        #expect(b.book.statementsToTell(c.id).map(\.revoked) == [c.id])
        _ = try c.book.receive(b.tells(c))
        #expect(c.book.revocationsOfOwn.map(\.byName) == ["a"])
        #expect(c.trusts(a) && c.trusts(b))
    }

    @Test("only who is trusted by its present key is heard")
    func whoCounts() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        let stranger = try Site.Member("stranger")
        let forged = try stranger.identity.revocation(of: c.id, reason: "", seconds: 1).bytes
        #expect(try b.book.receive([forged]).effects.isEmpty)
        #expect(b.trusts(c) && b.book.statementsToTell(a.id).isEmpty)
        // Neither is a guest.
        try b.book.setSharing(a.id, of: nil) { $0.access = .read }
        let guest = try a.identity.revocation(of: c.id, reason: "", seconds: 1).bytes
        #expect(try b.book.receive([guest]).effects.isEmpty)
        try b.book.setSharing(a.id, of: nil) { $0.access = nil }
        // c was revoked by a: what c says from then on does not count, and what a and c say of each other stays with who came first.
        try a.revoke(c.id)
        try Site.meet(a, b)
        let late = try c.identity.revocation(of: a.id, reason: "", seconds: 1).bytes
        #expect(try b.book.receive([late]).effects.isEmpty)
        #expect(b.trusts(a))
        // Nor when a person has let c in again, who learns of it.
        try b.book.restore(c.id)
        let (peerA, peerC) = (try #require(b.book.peer(a.id)), try #require(b.book.peer(c.id)))
        #expect(try b.book.receive([late, late]).effects == [.unheeded(peerA, by: peerC)])
        #expect(b.trusts(a) && b.trusts(c))
    }

    @Test(
        "who has a key of this node decides nothing here in its name, neither with a former key nor with the present one"
    )
    func ownKeyLeaked() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        let leaked = a.identity
        try a.rotate()
        for key in [leaked, a.identity] {
            let said = try key.revocation(of: c.id, reason: "", seconds: 1).bytes
            #expect(try a.book.receive([said]).effects.isEmpty)
            try a.restart()
            #expect(a.trusts(c) && a.book.statementsToTell(b.id).isEmpty)
        }
        // Nor does a person trust such a key by mistake.
        expectError(.conflict) { try a.book.add(leaked.nodeID, name: "copy") }
        // What was decided here goes on under the next key.
        try a.revoke(c.id)
        try a.rotate()
        #expect(a.book.statementsToTell(b.id).map(\.signer) == [a.id])
    }

    @Test("who speaks against somebody in advance is not safe from him")
    func inAdvance() throws {
        let nodes = try Site.of("n", "thief")
        let (n, thief) = (nodes[0], nodes[1])
        let a = try Site.Member("a")
        let said = try thief.identity.revocation(of: a.id, reason: "", seconds: 1).bytes
        #expect(try n.book.receive([said]).effects.isEmpty)
        try n.book.add(a.id, name: "a", method: .number)
        #expect(try n.book.receive([said]).effects.isEmpty)
        #expect(n.trusts(a))
        let answer = try a.identity.revocation(of: thief.id, reason: "", seconds: 1).bytes
        #expect(try n.book.receive([answer]).effects.count == 1)
        #expect(!n.trusts(thief))
    }

    @Test(
        "what a person has overruled does not come back by a new key of who said it, nor when he was forgotten meanwhile"
    )
    func overruledForGood() throws {
        let nodes = try Site.of("a", "b", "p", "c")
        let (a, b, p, c) = (nodes[0], nodes[1], nodes[2], nodes[3])
        // This node's own.
        try a.revoke(c.id)
        try a.book.restore(c.id)
        try a.rotate()
        #expect(a.book.statementsToTell(b.id).isEmpty)
        // Another's: its key is followed, or it is paired anew.
        for isForgotten in [false, true] {
            try p.book.add(c.id, name: "c")
            try p.revoke(c.id, seconds: isForgotten ? 20 : 10)
            try Site.meet(p, b)
            #expect(!b.trusts(c))
            if isForgotten { try b.book.remove(p.id) }
            try b.book.restore(c.id)
            try p.rotate()
            if isForgotten { try b.book.add(p.id, name: "p", method: .number) }
            try Site.meet(p, b)
            #expect(b.trusts(p) && b.trusts(c))
        }
    }

    @Test("whatever number of nodes was revoked before, the next one is cut off as well")
    func many() throws {
        let a = try Site.Member("a")
        let ids = (0...UInt8(TrustLimits.revocationsBySignerMax)).map {
            NodeID(subjectPublicKeyHash: [UInt8](repeating: $0, count: 32))
        }
        var (own, other) = (BookContents(), BookContents())
        other.set(Peer(id: a.id, name: "a", trustedAt: ""))
        for (number, id) in ids.enumerated() {
            let statement = try a.identity.revocation(of: id, reason: "", seconds: 1)
            let outline = try StatementOutline(parsing: statement.bytes)
            for isOwn in [true, false] {
                let peer = Peer(id: id, name: "p\(number)", trustedAt: "")
                if isOwn {
                    own.set(peer)
                    _ = try own.revoke(id, statement, [a.id])
                } else {
                    other.set(peer)
                    _ = try other.receive(outline, ownIDs: [], isQuiet: false, atSeconds: 0)
                }
            }
        }
        #expect(own.byID.isEmpty && own.revoked.count == ids.count)
        #expect(own.statements.map(\.revoked) == Array(ids.dropFirst()))
        #expect(Array(other.byID.keys) == [a.id] && other.revoked.count == ids.count)
        #expect(other.statements.map(\.revoked) == Array(ids.dropLast()))
        // One that there was no room for is overruled like the others.
        let last = try #require(ids.last)
        _ = try other.restore(last, name: "last", [])
        let again = try StatementOutline(
            parsing: try a.identity.revocation(of: last, reason: "", seconds: 1).bytes)
        _ = try other.receive(again, ownIDs: [], isQuiet: false, atSeconds: 0)
        #expect(other.byID[last] != nil)
    }

    @Test("what a node had said before it was revoked itself stands until a person decides, and is passed on no more")
    func revokedRevoker() throws {
        let nodes = try Site.of("a", "b", "thief", "c")
        let (a, b, thief, c) = (nodes[0], nodes[1], nodes[2], nodes[3])
        try thief.revoke(c.id)
        try Site.meet(thief, b)
        #expect(!b.trusts(c))
        try a.revoke(thief.id)
        try Site.meet(a, b)
        #expect(!b.trusts(c) && !b.trusts(thief))
        #expect(b.book.statementsToTell(a.id).map(\.revoked) == [thief.id])
        try b.book.restore(c.id)
        #expect(b.trusts(c))
    }

    @Test("a person overrules on one node; the same statement does not come back, a later one does")
    func overruled() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        for isPairedAgain in [false, true] {
            let seconds: Int64 = isPairedAgain ? 2_000_000_000 : 1_000
            try a.revoke(c.id, seconds: seconds)
            try Site.meet(a, b)
            #expect(!b.trusts(c))
            if isPairedAgain {
                try b.book.add(c.id, name: "c again", method: .number)
            } else {
                try b.book.restore(c.id)
            }
            try Site.meet(a, b)
            try b.restart()
            try Site.meet(a, b)
            #expect(b.trusts(c))
            // Neither does b tell others what it does not follow.
            #expect(b.book.statementsToTell(a.id).isEmpty)
        }
        // The clock of a is wrong by years, and backwards: what it says later is later all the same.
        try a.revoke(c.id, seconds: 5)
        try Site.meet(a, b)
        #expect(b.book.revokedPeer(c.id)?.revocation?.seconds == 2_000_000_001)
    }

    @Test("an old statement that is played back changes nothing")
    func replay() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        try a.revoke(c.id, reason: "first", seconds: 10)
        let old = a.tells(b)
        try a.revoke(c.id, reason: "second", seconds: 20)
        try Site.meet(a, b)
        try b.book.restore(c.id)
        #expect(try b.book.receive(old).effects.isEmpty)
        #expect(b.trusts(c))
    }

    @Test("one node fills neither the book nor the time of another")
    func bounds() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        let flood = try (0..<UInt8(TrustLimits.revocationsBySignerMax + 20)).map { number in
            try a.identity.revocation(
                of: NodeID(subjectPublicKeyHash: [UInt8](repeating: number, count: 32)), reason: "", seconds: 1
            ).bytes
        }
        #expect(try b.book.receive(flood).effects.isEmpty)
        #expect(b.book.statementsToTell(c.id).count == TrustLimits.revocationsBySignerMax)
        // What concerns somebody here finds room all the same.
        try a.revoke(c.id)
        #expect(try b.book.receive(a.tells(b)).effects.count == 1)
        // Wrong signatures are not computed without end, and right ones before them count.
        var wrong = flood.map { bytes in Array(bytes.dropLast()) + [bytes.last! ^ 1] }
        for index in wrong.indices { wrong[index][9] = 2 }
        #expect(try b.book.receive(wrong).faults.count == TrustLimits.wrongSignaturesMax)
    }

    @Test(
        "who says the same anew without end makes the others write seldom, and what it said last is taken all the same")
    func redating() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        func said(_ seconds: Int64) throws -> [UInt8] {
            try a.identity.revocation(of: c.id, reason: "", seconds: seconds).bytes
        }
        let before = b.book.statementsVersion
        var later: [TrustStatement] = []
        for seconds in 1...100 as ClosedRange<Int64> {
            later += try b.book.receive([said(seconds)], atSeconds: 1_000).later
        }
        #expect(b.book.statementsVersion - before == UInt64(1 + TrustLimits.redatingsMax))
        #expect(later.count == 99 - TrustLimits.redatingsMax && later.last?.seconds == 100)
        // A person lets c in, and a says it once more: taken when the time has come.
        try b.book.restore(c.id)
        let last = try said(101)
        #expect(try b.book.receive([last], atSeconds: 1_001).later.map(\.seconds) == [101])
        #expect(b.trusts(c))
        #expect(try b.book.receive([last], atSeconds: 1_001 + TrustLimits.redatingSeconds).effects.count == 1)
        #expect(!b.trusts(c))
        // Somebody else's words are not held up by it, nor by what others forge in its name.
        let d = try Site.Member("d")
        try b.book.add(d.id, name: "d")
        var forged = try said(200)
        forged[forged.count - 1] ^= 1
        #expect(try b.book.receive([forged], atSeconds: 1_500).faults.count == 1)
        #expect(try b.book.receive([d.identity.revocation(of: a.id, reason: "", seconds: 1).bytes]).effects.count == 1)
    }

    @Test("of two that revoke each other the first counts also where it had another key by then")
    func firstAfterRotation() throws {
        let nodes = try Site.of("a", "b", "thief", "n")
        let (a, b, thief, n) = (nodes[0], nodes[1], nodes[2], nodes[3])
        try a.rotate()
        try Site.meet(a, b)
        try a.revoke(thief.id)
        try Site.meet(a, b)
        // b, which n hears it from, has it all in the order in which it happened; the thief's answer comes behind.
        let answer = try thief.identity.revocation(of: a.id, reason: "", seconds: 1).bytes
        _ = try n.book.receive(b.tells(n) + [answer])
        #expect(n.trusts(a) && !n.trusts(thief))
    }

    @Test("what a person takes back, forgets or revokes as well is as it was said")
    func persons() throws {
        let nodes = try Site.of("a", "b", "c")
        let (a, b, c) = (nodes[0], nodes[1], nodes[2])
        try a.revoke(c.id)
        try Site.meet(a, b)
        // b's person agrees: it is no alarm any more.
        #expect(try b.revoke(c.id, reason: "me too").revocation?.isOwn == true)
        try b.book.remove(c.id)
        #expect(b.book.revokedPeers.isEmpty && !b.trusts(c))
        try Site.meet(a, b)
        #expect(!b.trusts(c))
        expectError(.notFound) { try b.book.restore(c.id) }
        try b.book.add(c.id, name: "c", method: .id)
        try Site.meet(a, b)
        #expect(b.trusts(c))
        // A name that went to another machine meanwhile.
        try b.revoke(c.id)
        let new = try Site.Member("new")
        try b.book.add(new.id, name: "c")
        expectError(.nameTaken) { try b.book.restore(c.id) }
        #expect(try b.book.restore(c.id, name: "old c").name == "old c")
        // c hears that it is revoked, and is paired again by a: it is over.
        _ = try c.book.receive(a.tells(c))
        #expect(Set(c.book.revocationsOfOwn.map(\.byName)) == ["a", "b"])
        try c.book.add(a.id, name: "a", method: .number)
        #expect(c.book.revocationsOfOwn.map(\.byName) == ["b"])
        // A link with b shows that it trusts c again.
        #expect(try c.book.forgive(b.id))
        #expect(try !c.book.forgive(b.id))
        #expect(c.book.revocationsOfOwn.isEmpty)
    }
}
