import KithDocuments

// Three-way merges.
extension ConflictResolver {
    /// Merges some documents that are due.
    ///
    /// - Returns: how many.
    func merge() async -> Int {
        let keys = agenda.take(StoreLimits.mergesPerCommitMax, now: now)
        var rest = keys[...]
        while !rest.isEmpty {
            do {
                let results = try await merge(Array(rest))
                for (key, result) in zip(rest, results) { finish(key, result) }
                rest = rest.dropFirst(results.count)
            } catch let error as KithError where Self.concernsDatabase(error) {
                for key in rest { finish(key, .failure(error)) }
                rest = []
            } catch {
                // Something in the rows of one document has undone all of them: each has a transaction of its own.
                for key in rest {
                    do {
                        for result in try await merge([key]) { finish(key, result) }
                    } catch {
                        finish(key, .failure(error))
                    }
                }
                rest = []
            }
        }
        return keys.count
    }

    /// Merges documents in one transaction, the first of them, until they have had as many bytes as it may have.
    ///
    /// - Returns: what became of these, at least one.
    private func merge(_ keys: [Key]) async throws -> [Attempt] {
        let waiting = keys.map { agenda.waiting($0) }
        let now = now
        return try await database.write { transaction in
            // It may have been switched off while this waited for its turn.
            guard try transaction.settings().mergePolicy == .threeWay else {
                return keys.map { _ in .done(isResolved: false) }
            }
            var results: [Attempt] = []
            var bytes = 0
            for (key, waiting) in zip(keys, waiting)
            where results.isEmpty || bytes < StoreLimits.mergeBytesPerCommitMax {
                results.append(try Self.merge(key, waiting, now: now, in: transaction, bytes: &bytes))
            }
            return results
        }
    }

    /// What is wrong with this document stays its own affair; what is wrong with the disk undoes all.
    private static func merge(
        _ key: Key, _ waiting: ConflictAgenda.Waiting?, now: Int64, in transaction: WriteTransaction, bytes: inout Int
    ) throws -> Attempt {
        do {
            guard try transaction.hasCollection(key.collection) else { return .done(isResolved: false) }
            let collection = try transaction.collection(key.collection)
            guard let conflict = try collection.conflict(key.id) else { return .done(isResolved: false) }
            bytes += conflict.byteCount
            return try resolve(conflict, waiting, now: now) { isPatient in
                try collection.merge(conflict, isPatient: isPatient) != nil
            }
        } catch let error as KithError where !concernsDatabase(error) {
            return .failure(error)
        }
    }

    /// Resolves a conflict, patiently while it has not waited long enough for a node that knows more.
    ///
    /// - Parameter body: writes, and returns whether the conflict is resolved.
    static func resolve(
        _ conflict: DocumentConflict, _ waiting: ConflictAgenda.Waiting?, now: Int64, _ body: (Bool) throws -> Bool
    ) throws -> Attempt {
        let versions = conflict.versions.map(\.revision)
        let isPatient = waiting.map { !$0.isOver(for: versions, now: now) } ?? true
        do {
            return .done(isResolved: try body(isPatient))
        } catch let error as KithError where isPatient && error.code == .cannotMerge && conflict.isKnownInPart {
            return .waits(versions, error)
        }
    }

    private static func concernsDatabase(_ error: KithError) -> Bool {
        [.diskFull, .inputOutput, .homeNotWritable, .closed, .busy].contains(error.code)
    }
}
