import KithDocuments
import KithReplication
import KithStore

/// A node of the mesh: a real store, kept over crashes as a disk would be, and whatever sessions are open.
final class SimulatedNode {
    let index: Int
    let database: Database
    /// Made anew after a crash, which forgets what is in memory.
    var executor: StoreExecutor
    var isUp = true
    /// Counts restarts: what was asked of the store before a crash is not answered after it.
    var incarnation = 0
    var isDiskFull = false

    init(index: Int, clock: SimulatedClock, revisionsLimit: Int?) throws {
        self.index = index
        var options = DatabaseOptions()
        options.writer = .caller
        options.clock = { clock.milliseconds }
        database = try Database(
            path: ":memory:", name: DatabaseName("simulation"), create: true, options: options)
        if let revisionsLimit {
            try database.writeBlocking { try $0.setSettings(DatabaseSettings(revisionsLimit: revisionsLimit)) }
        }
        executor = StoreExecutor(database: database)
    }

    func lastSequence() throws -> UInt64 { try database.read { try $0.lastSequence } }
}
