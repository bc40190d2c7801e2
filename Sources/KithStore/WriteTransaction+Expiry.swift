import KithDocuments

extension WriteTransaction {
    /// Says when a document goes away by itself: it is then purged from this node, without a tombstone and without telling
    /// peers, also when nobody had the database open at that time. The expiry stays through later changes of the document,
    /// makes no revision, takes no sequence, and is not replicated.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - time: milliseconds since 1970; nil to let it stay.
    /// - Throws: `.notFound` when there is no such document.
    public func setExpiry(_ id: DocumentID, at time: Int64?) throws {
        guard try row(id, connection) != nil else { throw KithError(.notFound, "There is no document \(id)") }
        try storing { connection in
            try connection.with(.setExpiry, in: number) { statement in
                statement.bind(id, at: 1)
                if let time { statement.bind(Int(time), at: 2) }
                try statement.run()
            }
        }
        if let time { scheduleHousekeeping(at: time) }
    }

    /// Does what is due in all collections, a bounded part of it at a time.
    ///
    /// - Returns: when there is more to do, `now` if at once; nil when nothing is known of.
    func doHousekeeping(now: Int64) throws -> Int64? {
        var next: Int64?
        var room = StoreLimits.expiriesPerCommitMax
        for name in try collections() {
            let view = try collection(name)
            room -= try view.purgeExpired(now: now, limit: room)
            if room == 0 { return now }
            if let expiry = try view.nextExpiry() { next = min(next ?? .max, expiry) }
        }
        if let unused = try removeUnusedBlobs(now: now) { next = min(next ?? .max, unused) }
        return next
    }

    private func purgeExpired(now: Int64, limit: Int) throws -> Int {
        let expired = try connection.with(.expired, in: number) { statement in
            statement.bind(Int(now), at: 1)
            statement.bind(limit, at: 2)
            var expired: [DocumentID] = []
            while try statement.step() { expired.append(statement.documentID(0)) }
            return expired
        }
        for id in expired { try purge(id) }
        return expired.count
    }
}

extension SQLiteConnection {
    /// When something is due that nobody asks for, in milliseconds since 1970; nil when nothing is known of.
    func nextHousekeeping() throws -> Int64? {
        try run(.begin)
        defer { try? run(.commit) }
        let snapshot = Snapshot(self)
        defer { snapshot.end() }
        var next: Int64? = try with(.nextUnusedBlob) { statement in
            try statement.step() && !statement.isNull(0) ? Int64(statement.int(0)) : nil
        }
        for name in try snapshot.collections() {
            if let expiry = try snapshot.collection(name).nextExpiry() { next = min(next ?? .max, expiry) }
        }
        return next
    }
}

extension Snapshot {
    /// When a document goes away by itself, in milliseconds since 1970; nil when it stays or is not there.
    public final func expiry(_ id: DocumentID) throws -> Int64? {
        try connection.with(.expiry, in: number) { statement in
            statement.bind(id, at: 1)
            return try statement.step() && !statement.isNull(0) ? Int64(statement.int(0)) : nil
        }
    }

    /// When the next document of this collection goes away by itself.
    public final func nextExpiry() throws -> Int64? {
        try connection.with(.nextExpiry, in: number) { statement in
            try statement.step() && !statement.isNull(0) ? Int64(statement.int(0)) : nil
        }
    }
}
