import KithDocuments
import KithReplication
import KithStore

/// A node of the mesh: a real store, kept over crashes as a disk would be, and whatever sessions are open.
final class SimulatedNode {
    let index: Int
    private(set) var database: Database
    /// Counts the databases that were here one after the other.
    private(set) var databaseNumber = 0
    /// Made anew after a crash, which forgets what is in memory.
    private(set) var executor: StoreExecutor
    var isUp = true
    /// Counts restarts: what was asked of the store before a crash is not answered after it.
    private(set) var incarnation = 0
    /// Whether every write fails.
    var isDiskFull = false
    /// The files of backups, the last one last.
    var backups: [String] = []
    /// How far this node's clock is from the right time.
    var clockErrorMilliseconds: Int64 = 0 {
        didSet { clock.milliseconds += clockErrorMilliseconds - oldValue }
    }

    /// The time by this node's clock.
    var timeMilliseconds: Int64 { clock.milliseconds }

    private let clock = SimulatedClock()
    /// Whether conflicts are merged here by themselves.
    let merges: Bool
    /// Whether a look for conflicts is due.
    var isMergeDue = false

    private let settings: DatabaseSettings

    init(index: Int, revisionsLimit: Int?, merges: Bool) throws {
        self.index = index
        self.merges = merges
        settings = DatabaseSettings(
            revisionsLimit: revisionsLimit ?? StoreLimits.revisionsLimitDefault,
            mergePolicy: merges ? .threeWay : .byHand)
        database = try Self.open(":memory:", clock, settings)
        executor = StoreExecutor(database: database)
    }

    /// The right time, from which this node's clock may differ.
    func setTime(milliseconds: Int64) { clock.milliseconds = milliseconds + clockErrorMilliseconds }

    func lastSequences() throws -> [CollectionName: UInt64] {
        try database.read { snapshot in
            let names = try snapshot.collections()
            return Dictionary(uniqueKeysWithValues: try names.map { ($0, try snapshot.collection($0).lastSequence) })
        }
    }

    /// Forgets what is in memory.
    func forgetMemory() {
        incarnation += 1
        executor = StoreExecutor(database: database)
    }

    /// Puts another database in place of the one that is here, which is gone.
    func replaceDatabase(path: String) throws {
        let new = try Self.open(path, clock, settings)
        database.close()
        database = new
        databaseNumber += 1
        forgetMemory()
    }

    /// Lets the database grow by so many pages and no further; `nil` for as far as it wants.
    func limitDisk(pagesLeft: Int?) throws {
        let pages = try database.limitPages(0)
        if let pagesLeft { try database.limitPages(pages + pagesLeft) }
    }

    private static func open(_ path: String, _ clock: SimulatedClock, _ settings: DatabaseSettings) throws -> Database {
        var options = DatabaseOptions(isDurable: false, clock: { clock.milliseconds })
        options.writer = .caller
        let database = try Database(path: path, name: DatabaseName("simulation"), create: true, options: options)
        try database.writeBlocking { try $0.setSettings(settings) }
        return database
    }
}
