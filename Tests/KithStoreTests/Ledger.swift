import KithDocuments
import KithStore

/// What a database was told and what it has answered; compared with the file afterwards.
struct Ledger: Sendable {
    /// A revision, and the sequence that it was given, 0 where that was not told.
    struct Write: Sendable, Hashable {
        var collection = CollectionName.default
        let id: DocumentID
        let revision: RevisionID
        let sequence: UInt64
    }

    private(set) var acknowledged: [Write] = []
    /// Transactions whose outcome is unknown, since they failed: whole or not there.
    private(set) var uncertain: [[Write]] = []
    /// What was removed again, for certain.
    private(set) var removed: [Write] = []
    /// What may be removed: each document whole or not at all.
    private(set) var perhapsRemoved: [Write] = []
    /// What the local document may hold: its last acknowledged value first, then what failed after it.
    private(set) var local: [String?] = [nil]
    /// Documents of which it is noted that they were refused.
    private(set) var refused: Set<String> = []
    /// The database's ID, once it was open.
    var publicID: String?

    mutating func acknowledge(_ writes: [Write]) { acknowledged += writes }
    mutating func fail(_ writes: [Write]) { if !writes.isEmpty { uncertain.append(writes) } }
    /// Notes that some documents were removed with all their revisions; or perhaps, since that failed.
    mutating func remove(isCertain: Bool, _ isRemoved: (Write) -> Bool) {
        let writes = acknowledged.filter(isRemoved)
        acknowledged.removeAll(where: isRemoved)
        if isCertain { removed += writes } else { perhapsRemoved += writes }
    }
    mutating func acknowledge(local value: String) { local = [value] }
    mutating func acknowledge(refused name: String) { refused.insert(name) }
    mutating func fail(local value: String) { local.append(value) }

    /// What the database at this path does not have as it was promised; nothing when all is well. It also has to open
    /// and to take a new write.
    func faults(at path: String) -> [String] {
        do {
            let database = try Database(
                path: path, name: DatabaseName("test"), create: publicID == nil,
                options: DatabaseOptions(writer: .caller))
            defer { database.close() }
            var faults = try database.findFaults()
            if let publicID, publicID != database.publicID { faults.append("it is another database") }
            faults += try database.read { snapshot in
                let local = try snapshot.localDocument("checkpoint").map(text)
                let fault = self.local.contains(local) ? [] : ["the local document is \(local ?? "gone")"]
                let noted = Set(try snapshot.refusals(limit: .max).map(\.key.id))
                let forgotten = refused.subtracting(noted).sorted().map { "forgotten: the refusal of \($0)" }
                let names = Set(try snapshot.collections() + acknowledged.map(\.collection))
                return try fault + forgotten + names.flatMap { try self.faults(in: snapshot, $0) }
            }
            let next = try database.writeBlocking { try $0.put(id("next"), body: bytes("{}"), parent: nil).sequence }
            if let last = acknowledged.filter({ $0.collection == .default }).map(\.sequence).max(), next <= last {
                faults.append("sequence \(next) comes after \(last) was acknowledged")
            }
            return faults
        } catch {
            return ["\(error)"]
        }
    }

    private func faults(in whole: Snapshot, _ collection: CollectionName) throws -> [String] {
        guard try whole.hasCollection(collection) else { return ["lost: collection \(collection)"] }
        let snapshot = try whole.collection(collection)
        let acknowledged = acknowledged.filter { $0.collection == collection }
        let perhapsRemoved = perhapsRemoved.filter { $0.collection == collection }
        let removed = removed.filter { $0.collection == collection }
        var faults: [String] = []
        let changes = try snapshot.changes(since: 0, limit: .max)
        var known: Set<String> = []
        for change in changes {
            for leaf in change.leaves {
                // Merge marks are written by nobody.
                for revision in try [leaf.revision] + (snapshot.history(change.id, leaf.revision) ?? [])
                where !revision.isMergeMark {
                    known.insert("\(change.id.text) \(revision)")
                }
            }
        }
        func isKnown(_ write: Write) -> Bool { known.contains("\(write.id.text) \(write.revision)") }

        for write in acknowledged where !isKnown(write) { faults.append("lost: \(write)") }
        for write in removed where isKnown(write) { faults.append("it is back: \(write)") }
        for (id, writes) in Dictionary(grouping: perhapsRemoved, by: \.id) {
            let count = writes.count(where: isKnown)
            if count != 0, count != writes.count { faults.append("\(count) of \(writes.count) revisions of \(id)") }
        }
        for writes in uncertain.map({ $0.filter { $0.collection == collection } }) {
            let count = writes.count(where: isKnown)
            if count != 0, count != writes.count { faults.append("\(count) of \(writes.count) in one transaction") }
        }
        let uncertain = uncertain.joined().filter { $0.collection == collection }
        let told = Set((acknowledged + perhapsRemoved + uncertain).map { "\($0.id.text) \($0.revision)" })
        for revision in known.subtracting(told).sorted() { faults.append("nobody wrote \(revision)") }

        let last = try snapshot.lastSequence
        let current = Dictionary(changes.map { ($0.id, $0.sequence) }, uniquingKeysWith: max)
        var owners: [UInt64: Write] = [:]
        for write in acknowledged + perhapsRemoved + removed where write.sequence > 0 {
            if let other = owners.updateValue(write, forKey: write.sequence) {
                faults.append("one sequence twice: \(other), \(write)")
            }
            if write.sequence > last { faults.append("the last sequence is \(last) after \(write)") }
            if let sequence = current[write.id], sequence < write.sequence {
                faults.append("sequence \(sequence) after \(write)")
            }
        }
        for change in changes {
            if let owner = owners[change.sequence], owner.id != change.id {
                faults.append("\(change.id.text) has the sequence of \(owner)")
            }
        }
        return faults
    }
}
