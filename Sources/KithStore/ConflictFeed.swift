import KithDocuments

/// Finds the documents in conflict of all collections: first those that are there, by the index over them, then those that
/// change. A value without I/O, but for the snapshot that it is given.
struct ConflictFeed: Sendable {
    /// What was found.
    struct Findings: Sendable {
        /// Documents in conflict that are there.
        var found: [ConflictAgenda.Key] = []
        /// Documents in conflict that have changed.
        var changed: [ConflictAgenda.Key] = []
        /// Documents that have changed and are not, or no more, in conflict.
        var others: [ConflictAgenda.Key] = []
        /// Collections in which nothing is in conflict, or that are gone.
        var clear: [CollectionName] = []
        /// Whether there may be more.
        var isPartial = false
    }

    private struct Place: Sendable {
        let number: Int
        /// Changes up to here need not be looked at.
        var since: UInt64
        var isScanning = true
        /// Whether there is something to read although nothing has changed.
        var isUnfinished = true
        var scannedThrough: DocumentID?
    }

    private var places: [CollectionName: Place] = [:]

    /// Goes through all that are there once more.
    mutating func scanAgain() {
        for name in places.keys {
            places[name]?.isScanning = true
            places[name]?.isUnfinished = true
            places[name]?.scannedThrough = nil
        }
    }

    /// The next ones.
    ///
    /// - Parameter changed: collections that have changed since the last time: of many collections the others cost nothing.
    mutating func read(_ snapshot: Snapshot, changed: Set<CollectionName>) throws -> Findings {
        var findings = Findings()
        let names = try snapshot.collections()
        for name in Set(places.keys).subtracting(names) {
            places[name] = nil
            findings.clear.append(name)
        }
        for name in names where changed.contains(name) || places[name]?.isUnfinished ?? true {
            try read(snapshot.collection(name), &findings)
        }
        return findings
    }

    private mutating func read(_ snapshot: Snapshot, _ findings: inout Findings) throws {
        let name = snapshot.collectionName
        var place = places[name]
        // One that was dropped and made anew.
        if place?.number != snapshot.number { place = nil }
        var here = try place ?? Place(number: snapshot.number, since: snapshot.lastSequence)
        defer { places[name] = here }
        // By far the most frequent case costs one look at the counters.
        if try snapshot.conflictCount == 0 {
            here.since = try snapshot.lastSequence
            here.isScanning = false
            here.isUnfinished = false
            findings.clear.append(name)
            return
        }
        let limit = StoreLimits.changesPerPageMax
        if here.isScanning {
            let page = try snapshot.conflicts(limit: limit, startingAfter: here.scannedThrough)
            findings.found += page.map { ConflictAgenda.Key(collection: name, id: $0.id) }
            here.scannedThrough = page.last?.id
            here.isScanning = page.count == limit
            findings.isPartial = true
            return
        }
        let page = try snapshot.changes(since: here.since, limit: limit)
        for change in page {
            let key = ConflictAgenda.Key(collection: name, id: change.id)
            if change.leaves.count(where: { !$0.isDeleted }) > 1 {
                findings.changed.append(key)
            } else {
                findings.others.append(key)
            }
        }
        here.isUnfinished = page.count == limit
        if here.isUnfinished { findings.isPartial = true }
        here.since = page.count == limit ? page[page.count - 1].sequence : try snapshot.lastSequence
    }
}
