import KithDocuments

@testable import KithTrust

/// Nodes with real keys and real books, which tell each other without a network.
final class Site {
    /// One node of it.
    final class Member {
        let folder = TemporaryFolder()
        let name: String
        private(set) var identity: NodeIdentity
        private(set) var book: PeerBook
        var id: NodeID { identity.nodeID }
        private var identityPath: String { folder.path + "/identity" }

        init(_ name: String) throws {
            self.name = name
            identity = try NodeIdentity.create(inFolder: folder.path + "/identity", name: name)
            book = try PeerBook(path: folder.path + "/peers.json", ownIDs: [identity.nodeID])
        }

        /// Opens everything again from the disk, as after a restart.
        func restart() throws {
            identity = try NodeIdentity.load(fromFolder: identityPath)
            book = try PeerBook(
                path: folder.path + "/peers.json", ownIDs: [identity.nodeID] + identity.formerIDs)
            try book.signAnew(identity)
        }

        func rotate(atSeconds seconds: Int64 = 1_800_000_000) throws {
            _ = try NodeIdentity.rotateKey(inFolder: identityPath, name: name, seconds: seconds)
            try restart()
        }

        @discardableResult
        func revoke(_ other: NodeID, reason: String = "lost", seconds: Int64 = 1_800_000_000) throws -> Peer {
            try book.revoke(other, reason: reason, identity: identity, seconds: seconds)
        }

        func trusts(_ other: Member) -> Bool { book.peer(other.id) != nil }

        /// What this node tells another one: the rotations of its key, and what that one may know.
        func tells(_ other: Member) -> [[UInt8]] {
            (identity.rotations + book.statementsToTell(other.id)).map(\.bytes)
        }
    }

    /// Makes nodes that are all paired with each other.
    static func of(_ names: String...) throws -> [Member] {
        let members = try names.map { try Member($0) }
        for one in members {
            for other in members where other !== one { try one.book.add(other.id, name: other.name, method: .number) }
        }
        return members
    }

    /// Two nodes meet, and tell each other as on the wire: first their own keys, then the rest.
    @discardableResult
    static func meet(_ one: Member, _ other: Member) throws -> [StatementEffect] {
        var effects: [StatementEffect] = []
        for (from, to) in [(one, other), (other, one)] {
            effects += try to.book.receive(from.identity.rotations.map(\.bytes)).effects
        }
        for (from, to) in [(one, other), (other, one)] { effects += try to.book.receive(from.tells(to)).effects }
        return effects
    }
}

extension PeerBook {
    /// At a moment that is always the same.
    @discardableResult
    func receive(
        _ statements: [[UInt8]]
    ) throws(KithError) -> (effects: [StatementEffect], faults: [KithError], later: [TrustStatement]) {
        try receive(statements, atSeconds: 0)
    }
}
