import KithDocuments

extension Database {
    /// Waits until a collection has changed after a sequence, by this process or another one.
    ///
    /// ```swift
    /// var seen: UInt64 = 0
    /// while true {
    ///     seen = try await database.waitForChange(after: seen)
    ///     …
    /// }
    /// ```
    ///
    /// - Returns: the last sequence, beyond the given one; at once when it is that already.
    /// - Throws: `.closed` when the database closes, `.notFound` when there is no such collection, `.inputOutput`,
    ///   `.damaged`; `CancellationError` when the task is cancelled.
    public func waitForChange(after sequence: UInt64, in collection: CollectionName = .default) async throws -> UInt64 {
        let waiter = ChangeWaiter()
        let databaseName = name.text
        // Before the state is read: what comes after that is told here.
        let token = observe(
            collection,
            onCommit: { last in if last > sequence { waiter.finish(.success(last)) } },
            onClose: { waiter.finish(.failure(KithError.closed(databaseName))) })
        defer { token.cancel() }
        submitRead({ try $0.collection(collection).lastSequence }) { result in
            if case .success(let last) = result, last <= sequence { return }
            waiter.finish(result)
        }
        return try await withTaskCancellationHandler {
            try await waiter.result()
        } onCancel: {
            waiter.finish(.failure(CancellationError()))
        }
    }

    /// Follows the changes of a collection: what a query asks for that is there, then what comes, by this process or
    /// another one, each time in batches of bounded size.
    ///
    /// ```swift
    /// for try await batch in database.changes(ChangesQuery(since: seen)) {
    ///     for change in batch { print(change.id) }
    /// }
    /// ```
    ///
    /// A document that changes several times before it is asked for comes once. The sequence ends after `limit` changes
    /// and throws what `waitForChange` throws. `isDescending` is not looked at.
    public func changes(_ query: ChangesQuery = ChangesQuery(), in collection: CollectionName = .default) -> ChangesFeed
    {
        ChangesFeed(database: self, query: query, collection: collection)
    }
}
