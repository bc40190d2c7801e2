import KithDocuments

extension Database {
    /// Merges all documents in conflict that can be merged, and returns when that is done: for a database with `.caller`,
    /// where nothing happens by itself. A node uses `ConflictResolver`.
    ///
    /// - Parameter isPatient: false when nobody is left who might know more of what versions parted from, as
    ///   `ConflictResolver` assumes after a while.
    /// - Returns: how many conflicts were resolved.
    /// - Throws: as `write`; not for a document that cannot be merged.
    @discardableResult
    public func mergeConflicts(isPatient: Bool = true) throws -> Int {
        var resolved = 0
        for name in try read({ try $0.collections() }) {
            var last: DocumentID?
            while true {
                let after = last
                let page = try read {
                    try $0.collection(name).conflicts(limit: StoreLimits.mergesPerCommitMax, startingAfter: after)
                }
                for change in page {
                    do {
                        // Once more where there were more versions than are merged together.
                        while try writeBlocking({ transaction -> RevisionID? in
                            let collection = try transaction.collection(name)
                            guard let conflict = try collection.conflict(change.id) else { return nil }
                            return try collection.merge(conflict, isPatient: isPatient)
                        }) != nil { resolved += 1 }
                    } catch ErrorCode.cannotMerge {
                    } catch ErrorCode.tooLarge {
                    } catch ErrorCode.badDocument {
                    }
                }
                guard let lastID = page.last?.id, page.count == StoreLimits.mergesPerCommitMax else { break }
                last = lastID
            }
        }
        return resolved
    }
}
