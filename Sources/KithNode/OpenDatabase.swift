import KithDocuments
import KithReplication
import KithStore
import KithTransport

/// A database that the node has open.
@LoopActor
final class OpenDatabase {
    let name: DatabaseName
    let database: Database
    let executor: StoreExecutor
    /// The last sequences of all collections, as the store last told.
    private(set) var lastSequences: [CollectionName: UInt64] = [:]
    /// The last sequence of the collection `_default`.
    var lastSequence: UInt64 { lastSequences[.default] ?? 0 }
    private var observation: ObservationToken?
    /// Wakes whoever follows the changes.
    let changed = ChangeSignal()
    private(set) var isClosed = false
    /// Whether a compaction that nobody waits for is under way.
    var isCompacting = false
    /// Resolves conflicts by itself, as the database is set or an app says.
    let resolver: ConflictResolver
    private var resolving: Task<Void, Never>?
    /// Called when the database has changed, with the last sequences of the collections that have.
    var onChange: (@LoopActor (OpenDatabase, [CollectionName: UInt64]) -> Void)?

    init(name: DatabaseName, database: Database) throws {
        self.name = name
        self.database = database
        executor = StoreExecutor(database: database)
        let resolver = ConflictResolver(database: database)
        self.resolver = resolver
        // Observed before it is read, and read before anything here writes, so that each change is seen by one of the two.
        observation = database.observeCollections { [weak self] sequences in
            EventLoop.shared.post { self?.noteChange(sequences) }
        }
        lastSequences = try database.read(Self.lastSequences)
        resolving = Task.detached { await resolver.run() }
    }

    private nonisolated static func lastSequences(_ snapshot: Snapshot) throws -> [CollectionName: UInt64] {
        let names = try snapshot.collections()
        return Dictionary(uniqueKeysWithValues: try names.map { ($0, try snapshot.collection($0).lastSequence) })
    }

    /// The last sequences of all collections as they are in the database now: `lastSequences` hears of a commit a moment later.
    func readLastSequences() async throws -> [CollectionName: UInt64] {
        try await read { try Self.lastSequences($0) }
    }

    private func noteChange(_ sequences: [CollectionName: UInt64]) {
        // Commits are told in their order; what was read before is not told again.
        let new = sequences.filter { $0.value > lastSequences[$0.key] ?? 0 }
        guard !new.isEmpty else { return }
        lastSequences.merge(new) { $1 }
        changed.signal()
        onChange?(self, new)
    }

    func close() async {
        observation?.cancel()
        observation = nil
        isClosed = true
        changed.signal()
        resolving?.cancel()
        await resolving?.value
        let database = self.database
        await Task.detached { database.close() }.value
    }

    /// Changes what the database is set to; what follows from it begins at once.
    func setSettings(_ change: @escaping @Sendable (inout DatabaseSettings) -> Void) async throws -> DatabaseSettings {
        let settings = try await write { transaction in
            var settings = try transaction.settings()
            change(&settings)
            try transaction.setSettings(settings)
            return settings
        }
        resolver.settingsChanged()
        return settings
    }

    /// Reads on one of the store's readers.
    func read<T: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            database.submitRead(body) { continuation.resume(with: $0) }
        }
    }

    /// Writes; the answer comes when it is durable.
    func write<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
        try await database.write(body)
    }
}
