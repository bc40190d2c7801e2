import KithDocuments

/// A revision that did not get from one node to the other because one of them would not take it, or could not send it.
public struct DocumentRefusal: Sendable, Equatable {
    /// What it is about: there is one refusal for each, the last.
    public struct Key: Hashable, Sendable {
        /// The peer's whole ID, as text.
        public let peer: String
        /// The collection.
        public let collection: CollectionName
        /// The document's ID as it came, which may be none that is legal.
        public let id: String
        /// Whether the revision was to go from here to the peer; otherwise it came from there.
        public let isOutgoing: Bool

        /// A key.
        public init(peer: String, collection: CollectionName, id: String, isOutgoing: Bool) {
            self.peer = peer
            self.collection = collection
            self.id = id
            self.isOutgoing = isOutgoing
        }
    }

    /// What it is about.
    public let key: Key
    /// The revision's ID as it came.
    public let revision: String
    /// Whether the peer has refused it; otherwise this node.
    public let isByPeer: Bool
    /// The kind of error, as a status of HTTP.
    public let code: Int
    /// Why, in the words of the side that refused it.
    public let reason: String
    /// When, in seconds since 1970.
    public let wallSeconds: Int64
    /// How often this revision was refused.
    public var attempts: Int

    /// A refusal.
    public init(
        key: Key, revision: String, isByPeer: Bool, code: Int, reason: String, wallSeconds: Int64, attempts: Int = 1
    ) {
        self.key = key
        self.revision = revision
        self.isByPeer = isByPeer
        self.code = code
        self.reason = reason
        self.wallSeconds = wallSeconds
        self.attempts = attempts
    }
}

extension Snapshot {
    /// What was refused, the last first.
    ///
    /// - Parameters:
    ///   - peer: only in the exchange with this peer.
    ///   - id: only of this document, in any collection.
    ///   - limit: how many at most.
    public final func refusals(peer: String? = nil, id: String? = nil, limit: Int) throws -> [DocumentRefusal] {
        let sql = """
            SELECT peer, collection, id, is_outgoing, revision, is_by_peer, code, reason, refused_at, attempts FROM refusal
            WHERE (?1 IS NULL OR peer = ?1) AND (?2 IS NULL OR id = ?2) ORDER BY number DESC LIMIT ?3
            """
        let connection = try connection
        return try connection.query(sql) { row in
            if let peer { row.bind(copying: peer, at: 1) }
            if let id { row.bind(copying: id, at: 2) }
            row.bind(limit, at: 3)
            var refusals: [DocumentRefusal] = []
            while try row.step() {
                guard let collection = try? CollectionName(row.text(1)) else {
                    throw DocumentRow.damaged(connection.databaseName, cause: nil)
                }
                refusals.append(
                    DocumentRefusal(
                        key: DocumentRefusal.Key(
                            peer: row.text(0), collection: collection, id: row.text(2), isOutgoing: row.int(3) != 0),
                        revision: row.text(4), isByPeer: row.int(5) != 0, code: row.int(6), reason: row.text(7),
                        wallSeconds: Int64(row.int(8)), attempts: row.int(9)))
            }
            return refusals
        }
    }

    /// Of some refusals those that are about nothing any more: what was to go out is no leaf any more, or what came has
    /// come in another way. A new revision has its own.
    public final func obsolete(_ refusals: [DocumentRefusal]) throws -> [DocumentRefusal.Key] {
        try refusals.filter { refusal in
            guard try hasCollection(refusal.key.collection) else { return refusal.key.isOutgoing }
            guard let id = try? DocumentID(refusal.key.id),
                let revision = try? RevisionID(parsing: refusal.revision)
            else { return false }
            let lookup = try collection(refusal.key.collection).lookup([(id, revision)])[0]
            switch lookup {
            case .known, .branch: return !refusal.key.isOutgoing
            case .superseded: return true
            case .missing: return refusal.key.isOutgoing
            }
        }.map(\.key)
    }
}

extension WriteTransaction {
    /// Notes what was refused, in place of what was known of the same documents. The `StoreLimits.refusalsMax` last are kept.
    public func noteRefusals(_ refusals: [DocumentRefusal]) throws {
        // The same revision once more is another attempt at it.
        let sql = """
            INSERT OR REPLACE INTO refusal (
                peer, collection, id, is_outgoing, revision, is_by_peer, code, reason, refused_at, attempts)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 1 + coalesce((SELECT attempts FROM refusal
                WHERE peer = ?1 AND collection = ?2 AND id = ?3 AND is_outgoing = ?4 AND revision = ?5), 0))
            """
        try storing { connection in
            for refusal in refusals {
                try connection.query(sql) { row in
                    bind(refusal.key, row)
                    row.bind(copying: refusal.revision, at: 5)
                    row.bind(refusal.isByPeer ? 1 : 0, at: 6)
                    row.bind(refusal.code, at: 7)
                    row.bind(copying: refusal.reason, at: 8)
                    row.bind(Int(refusal.wallSeconds), at: 9)
                    _ = try row.step()
                }
            }
            try connection.execute(
                "DELETE FROM refusal WHERE number <= (SELECT max(number) FROM refusal) - \(StoreLimits.refusalsMax)")
        }
    }

    /// Forgets refusals, since they are about nothing any more.
    public func forgetRefusals(_ keys: [DocumentRefusal.Key]) throws {
        let sql = "DELETE FROM refusal WHERE peer = ?1 AND collection = ?2 AND id = ?3 AND is_outgoing = ?4"
        try storing { connection in
            for key in keys {
                try connection.query(sql) { row in
                    bind(key, row)
                    _ = try row.step()
                }
            }
        }
    }

    /// Forgets all that was refused in the exchange with a peer.
    public func forgetRefusals(ofPeer peer: String) throws {
        try storing { connection in
            try connection.query("DELETE FROM refusal WHERE peer = ?1") { row in
                row.bind(copying: peer, at: 1)
                _ = try row.step()
            }
        }
    }

    private func bind(_ key: DocumentRefusal.Key, _ row: SQLiteStatement) {
        row.bind(copying: key.peer, at: 1)
        row.bind(copying: key.collection.text, at: 2)
        row.bind(copying: key.id, at: 3)
        row.bind(key.isOutgoing ? 1 : 0, at: 4)
    }
}
