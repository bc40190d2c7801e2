import KithDocuments

/// The changes of a collection as they come, in batches: see `Database.changes`.
public struct ChangesFeed: AsyncSequence, Sendable {
    /// Some changes, at least one, in the order of their sequences.
    public typealias Element = [Change]

    let database: Database
    let query: ChangesQuery
    let collection: CollectionName

    /// Begins to follow, at the query's `since`.
    public func makeAsyncIterator() -> Iterator {
        var query = query
        query.isDescending = false
        return Iterator(database: database, collection: collection, query: query)
    }

    /// One that follows.
    public struct Iterator: AsyncIteratorProtocol {
        let database: Database
        let collection: CollectionName
        /// What is still to come.
        var query: ChangesQuery
        /// Keeps other processes watched from one wait to the next.
        var token: ObservationToken?

        /// The next batch; nil when as many changes have come as the query's limit says.
        public mutating func next() async throws -> [Change]? {
            while query.limit > 0 {
                try Task.checkCancellation()
                let (database, collection, current) = (database, collection, query)
                let page = try await withCheckedThrowingContinuation { continuation in
                    database.submitRead({ try $0.collection(collection).firstPage(current) }) {
                        continuation.resume(with: $0)
                    }
                }
                if let last = page.changes.last {
                    query.since = last.sequence
                    query.limit -= page.changes.count
                    return page.changes
                }
                // Nothing of what has come up to here is asked for.
                query.since = Swift.max(query.since, page.lastSequence)
                if token == nil { token = database.observe(collection) { _ in } }
                _ = try await database.waitForChange(after: query.since, in: collection)
            }
            return nil
        }
    }
}
