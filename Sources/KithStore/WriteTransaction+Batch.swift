import KithDocuments

extension WriteTransaction {
    /// Makes many edits, in their order.
    ///
    /// ```swift
    /// let edits = bodies.map { DocumentEdit(id: $0.id, body: $0.text) }
    /// let outcomes = try await database.write { try $0.putAll(edits, onFailure: .keepOthers) }
    /// ```
    ///
    /// - Parameters:
    ///   - edits: what to write, each as `put` does; of several for one document, a later one sees the earlier.
    ///   - policy: what happens when one fails. With `.undoAll` the whole body of the write is undone then, with all that
    ///     it did before, even if it does not pass the error on.
    /// - Returns: for each edit what it has made, or why it was not made, which names the document; with `.undoAll` there
    ///   are only successes.
    /// - Throws: with `.undoAll` the error of the first edit that failed, which names its document and says how many
    ///   failed. Whatever the policy, what is wrong with the storage.
    @discardableResult
    public func putAll(
        _ edits: [DocumentEdit], onFailure policy: DocumentEdit.FailurePolicy
    ) throws -> [Result<EditOutcome, KithError>] {
        var outcomes: [Result<EditOutcome, KithError>] = []
        outcomes.reserveCapacity(edits.count)
        var failureCount = 0
        var first: (id: DocumentID, error: KithError)?
        for edit in edits {
            do {
                let (revision, sequence) = try put(
                    edit.id, body: edit.body, parent: edit.parent, isDeleted: edit.isDeleted)
                outcomes.append(.success(EditOutcome(id: edit.id, revision: revision, sequence: sequence)))
            } catch let error as KithError where error.concernsOneDocument {
                outcomes.append(.failure(error))
                failureCount += 1
                if first == nil { first = (edit.id, error) }
            }
        }
        guard policy == .undoAll, let first else { return outcomes }
        let error = KithError(
            first.error.code,
            "\(failureCount) of \(edits.count) edits failed and none was made; the first, of document \(first.id.text): "
                + first.error.message,
            remedy: first.error.remedy, cause: first.error)
        // As a fault of the storage does, this undoes the body whatever it makes of the error.
        return try storing { _ in throw error }
    }
}

extension KithError {
    /// Whether it lies with the document that was to be written: the next one may succeed.
    fileprivate var concernsOneDocument: Bool {
        [.badDocument, .badName, .tooLarge, .conflict, .notFound].contains(code)
    }
}
