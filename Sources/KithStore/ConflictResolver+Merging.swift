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
                for (key, result) in zip(rest, results) { finishMerge(key, result) }
                rest = rest.dropFirst(results.count)
            } catch let error as KithError where Self.concernsDatabase(error) {
                for key in rest { finishMerge(key, .failure(error)) }
                rest = []
            } catch {
                // Something in the rows of one document has undone all of them: each has a transaction of its own.
                for key in rest {
                    do {
                        for result in try await merge([key]) { finishMerge(key, result) }
                    } catch {
                        finishMerge(key, .failure(error))
                    }
                }
                rest = []
            }
        }
        return keys.count
    }

    /// What became of one document.
    private enum MergeResult: Sendable {
        case done(Bool)
        /// It waits for a node that knows more.
        case waits(KithError)
        case failure(any Error)
    }

    /// Merges documents in one transaction, the first of them, until they have had as many bytes as it may have.
    ///
    /// - Returns: what became of these, at least one.
    private func merge(_ keys: [Key]) async throws -> [MergeResult] {
        let waited = waited
        return try await database.write { transaction in
            // It may have been switched off while this waited for its turn.
            guard try transaction.settings().mergePolicy == .threeWay else { return keys.map { _ in .done(false) } }
            var results: [MergeResult] = []
            var bytes = 0
            for key in keys where results.isEmpty || bytes < StoreLimits.mergeBytesPerCommitMax {
                results.append(
                    try Self.merge(key, in: transaction, isPatient: !waited.contains(key), bytes: &bytes))
            }
            return results
        }
    }

    /// What is wrong with this document stays its own affair; what is wrong with the disk undoes all.
    private static func merge(
        _ key: Key, in transaction: WriteTransaction, isPatient: Bool, bytes: inout Int
    ) throws -> MergeResult {
        do {
            guard try transaction.hasCollection(key.collection) else { return .done(false) }
            let collection = try transaction.collection(key.collection)
            guard let conflict = try collection.conflict(key.id) else { return .done(false) }
            bytes += conflict.byteCount
            do {
                return .done(try collection.merge(conflict, isPatient: isPatient) != nil)
            } catch let error as KithError where isPatient && error.code == .cannotMerge && conflict.isKnownInPart {
                return .waits(error)
            }
        } catch let error as KithError where !concernsDatabase(error) {
            return .failure(error)
        }
    }

    private static func concernsDatabase(_ error: KithError) -> Bool {
        [.diskFull, .inputOutput, .homeNotWritable, .closed, .busy].contains(error.code)
    }

    private func finishMerge(_ key: Key, _ result: MergeResult) {
        if case .waits(let error) = result {
            if waited.count < StoreLimits.conflictsWaitingMax { waited.insert(key) }
            setFailure(ConflictFailure(collection: key.collection, id: key.id, error: error, isRetried: true), of: key)
            return agenda.finish(key, .failedForNow, now: now, random: .random(in: 0...1))
        }
        waited.remove(key)
        switch result {
        case .done(let isResolved): finish(key, .success(isResolved))
        case .failure(let error): finish(key, .failure(error))
        case .waits: break
        }
    }
}
