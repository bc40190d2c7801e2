import KithDocuments

extension WriteTransaction {
    /// Makes a collection; does nothing when it is there.
    ///
    /// - Throws: `.tooLarge` when the database has `StoreLimits.collectionsMax` collections.
    public func createCollection(_ name: CollectionName) throws {
        guard try !hasCollection(name) else { return }
        guard try connection.number("SELECT count(*) FROM collection") < StoreLimits.collectionsMax else {
            throw KithError(
                .tooLarge,
                "Database \(try connection.databaseName) has \(StoreLimits.collectionsMax) collections already",
                remedy: "Drop one that is no longer needed")
        }
        try storing { connection in
            // Numbers are not given again, so that nothing that was kept for a dropped collection fits another one.
            try connection.execute("UPDATE meta SET last_collection = last_collection + 1")
            let number = try connection.number("SELECT last_collection FROM meta")
            // Beyond those of any dropped collection, which may have had this name: whoever has seen them misses nothing.
            let last = try connection.number("SELECT dropped_sequence FROM meta")
            try connection.execute(StoreSchema.tables(ofCollection: number))
            try connection.with(.insertCollection) { statement in
                statement.bind(number, at: 1)
                statement.bind(copying: name.text, at: 2)
                statement.bind(last, at: 3)
                try statement.run()
            }
        }
    }

    /// Removes a collection with all its documents, without telling peers; does nothing when it is not there.
    ///
    /// - Throws: `.badName` for `_default`, which every database has.
    public func dropCollection(_ name: CollectionName) throws {
        guard name != .default else {
            throw KithError(
                .badName, "The collection _default cannot be dropped",
                remedy: "Purge its documents, or drop the database")
        }
        guard let number = try collectionNumber(name) else { return }
        // Those who wait for a change are told of one, and find that the collection is gone.
        let last = try collection(name).takeSequenceForDropping()
        try storing { connection in
            connection.finalizeStatements(ofCollection: number)
            try connection.execute(
                """
                UPDATE meta SET dropped_sequence = max(dropped_sequence, \(last));
                UPDATE blob SET uses = uses - gone.number_of_uses FROM
                    (SELECT blob, count(*) AS number_of_uses FROM blob_use WHERE collection = \(number)
                        GROUP BY blob) AS gone
                    WHERE number = gone.blob;
                DELETE FROM blob_use WHERE collection = \(number);
                DELETE FROM collection WHERE number = \(number);
                """)
            try connection.execute(StoreSchema.dropTables(ofCollection: number))
        }
        scheduleHousekeeping(at: 0)
    }

    /// Changes what the database is set to.
    ///
    /// - Throws: `.badRequest` when the limit of revisions is below 1 or above `StoreLimits.revisionsLimitMax`.
    public func setSettings(_ settings: DatabaseSettings) throws {
        guard settings.revisionsLimit >= 1, settings.revisionsLimit <= StoreLimits.revisionsLimitMax else {
            throw KithError(
                .badRequest, "The limit of revisions must be from 1 to \(StoreLimits.revisionsLimitMax)",
                remedy: "The default is \(StoreLimits.revisionsLimitDefault)")
        }
        try storing { connection in
            try connection.execute(
                """
                UPDATE meta SET revisions_limit = \(settings.revisionsLimit),
                    keeps_old_bodies = \(settings.keepsOldBodies ? 1 : 0),
                    merge_policy = \(settings.mergePolicy.number)
                """)
        }
        settingsChanged()
    }
}
