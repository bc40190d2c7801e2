import KithDocuments

/// Says in full what the node says in a word: CouchDB's dialect has `missing` and `deleted` where a person needs a name.
enum Explanation {
    /// The same error with the names in it.
    static func of(_ error: KithError, database: String, document: String? = nil, revision: String? = nil) -> KithError
    {
        let shown = DisplayText.safe(database)
        let isAboutDatabase =
            error.code == .databaseNotFound
            || error.code == .notFound
                && (document == nil || ["no_db_file", "Database does not exist."].contains(error.message))
        if isAboutDatabase {
            return KithError(
                .databaseNotFound, "there is no database \(shown) here",
                remedy:
                    "Make it with: kith db create \(ShellQuoting.quote(database)), or see those that are there: kith db list"
            )
        }
        guard error.code == .notFound, let document else { return error }
        let name = DisplayText.safe(database + "/" + document)
        if let revision {
            return KithError(
                .notFound, "\(name) has no revision \(DisplayText.safe(revision)) here",
                remedy: "See its current one: kith get \(ShellQuoting.quote(database)) \(ShellQuoting.quote(document))")
        }
        let isDeleted = DisplayText.same(error.message, "deleted")
        return KithError(
            .notFound, isDeleted ? "\(name) was deleted" : "there is no document \(name)",
            remedy: "See those that are there: kith list \(ShellQuoting.quote(database))")
    }

    /// Does something about a database or document and names it in the error.
    static func about<Result>(
        _ database: String, _ document: String? = nil, revision: String? = nil, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as KithError {
            throw of(error, database: database, document: document, revision: revision)
        }
    }
}
