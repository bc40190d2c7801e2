import KithDocuments

extension Snapshot {
    /// The names of all collections, `_default` first, then by their bytes.
    public final func collections() throws -> [CollectionName] {
        let names = try connection.texts("SELECT name FROM collection WHERE number <> 1 ORDER BY name")
        return try [.default]
            + names.map { name in
                do {
                    return try CollectionName(name)
                } catch {
                    throw DocumentRow.damaged(try connection.databaseName, cause: error)
                }
            }
    }

    /// Whether the database has a collection.
    public final func hasCollection(_ name: CollectionName) throws -> Bool {
        try collectionNumber(name) != nil
    }

    /// The number of a collection, nil when there is none of that name.
    final func collectionNumber(_ name: CollectionName) throws -> Int? {
        let connection = try connection
        if name == .default { return StoreSchema.defaultCollection }
        return try connection.with(.collectionNumber) { statement in
            statement.bind(copying: name.text, at: 1)
            return try statement.step() ? statement.int(0) : nil
        }
    }

    /// The number of a collection.
    final func numberOfCollection(_ name: CollectionName) throws -> Int {
        if let number = try collectionNumber(name) { return number }
        throw KithError(
            .notFound, "Database \(try connection.databaseName) has no collection \(name)", remedy: "Create it first")
    }
}
