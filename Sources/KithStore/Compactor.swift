import Glibc
import KithDocuments

/// One compaction: small transactions, one after the other, on the thread of the compaction.
struct Compactor {
    private let database: Database
    private let signal: StopSignal
    private let progress: (MaintenanceProgress) -> Void
    private var result = CompactionResult()

    init(_ database: Database, _ signal: StopSignal, _ progress: @escaping (MaintenanceProgress) -> Void) {
        self.database = database
        self.signal = signal
        self.progress = progress
    }

    mutating func run() throws -> CompactionResult {
        result.bytesBefore = database.sizeOnDisk
        try dropOldBodies()
        try dropUnusedBlobs()
        if !DatabaseFile.isInMemory(database.path) {
            try giveBackPages()
            try emptyLog()
        }
        result.bytesAfter = database.sizeOnDisk
        return result
    }

    private func tell(_ phase: MaintenanceProgress.Phase, _ completed: Int, _ total: Int) {
        progress(MaintenanceProgress(phase: phase, completed: completed, total: max(completed, total)))
    }

    // MARK: Bodies of superseded revisions

    private mutating func dropOldBodies() throws {
        let names = try database.read { try $0.collections() }
        var total = 0
        for name in names {
            total += try whileThere { try database.read { try $0.collection(name).countWithBodiesBeside() } } ?? 0
        }
        var completed = 0
        for name in names {
            var last: DocumentID?
            while true {
                try signal.check()
                let after = last
                let ids = try whileThere {
                    try database.read {
                        try $0.collection(name).withBodiesBeside(
                            after: after, limit: StoreLimits.compactionStepRows)
                    }
                }
                guard let ids, let lastID = ids.last else { break }
                last = lastID
                var rest = ids[...]
                while !rest.isEmpty {
                    try signal.check()
                    let step = rest
                    let done = try whileThere {
                        try database.writeBlocking { try $0.collection(name).dropOldBodies(of: step) }
                    }
                    guard let done else { break }
                    rest = rest.dropFirst(done.documents)
                    result.oldBodies += done.bodies
                    completed += done.documents
                    tell(.oldBodies, completed, total)
                }
            }
        }
    }

    /// Nil when the collection was dropped meanwhile.
    private func whileThere<Result>(_ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch ErrorCode.notFound {
            return nil
        }
    }

    // MARK: Attachments

    /// What housekeeping does now and then; here all of it, before pages are given back.
    private mutating func dropUnusedBlobs() throws {
        let now = database.now
        // Counted once: counting at each step would make many of them cost the square.
        result.blobs = try database.read { try $0.countUnusedBlobs(now: now) }
        var removed = 0
        var isDone = false
        repeat {
            try signal.check()
            let isWhole: Bool
            (isWhole, isDone) = try database.writeBlocking { transaction in
                let first = try transaction.firstUnusedBlob(now: now)
                _ = try transaction.removeUnusedBlobs(now: now)
                let next = try transaction.firstUnusedBlob(now: now)
                return (first != nil && next != first, next == nil)
            }
            if isWhole { removed += 1 }
            tell(.unusedBlobs, min(removed, result.blobs), result.blobs)
        } while !isDone
    }

    // MARK: Pages

    private func giveBackPages() throws {
        let (mode, free) = try database.read { snapshot in
            // The first reading statement fixes the snapshot, in which the pragmas look.
            _ = try snapshot.counters()
            return (
                try snapshot.connection.number("PRAGMA auto_vacuum"),
                try snapshot.connection.number("PRAGMA freelist_count")
            )
        }
        guard mode == 0 else { return try giveBackInSteps(free) }
        tell(.freePages, 0, free)
        try database.connection.use { connection in
            // The copy that it makes meanwhile would be in memory otherwise.
            try connection.execute("PRAGMA temp_store = FILE; PRAGMA auto_vacuum = INCREMENTAL")
            defer { try? connection.execute("PRAGMA temp_store = MEMORY") }
            try signal.interrupting(connection) { try connection.execute("VACUUM") }
        }
        tell(.freePages, free, free)
    }

    private func giveBackInSteps(_ free: Int) throws {
        let pages = StoreLimits.compactionStepBytes / 4_096
        // Others may free and use pages meanwhile: so many steps and no more.
        for step in 0..<(free / pages + 1) where free > 0 {
            try signal.check()
            let left = try database.writeBlocking { transaction in
                try transaction.storing { connection in
                    try connection.execute("PRAGMA incremental_vacuum(\(pages))")
                    return try connection.number("PRAGMA freelist_count")
                }
            }
            tell(.freePages, min(free, (step + 1) * pages), free)
            if left == 0 { return }
        }
    }

    private func emptyLog() throws {
        for _ in 0..<StoreLimits.checkpointAttemptsMax {
            try signal.check()
            if try database.connection.use({ try $0.checkpointWithoutWaiting() }) { return }
            // A reader is at an older state, or another process writes.
            usleep(StoreLimits.checkpointRetryMicroseconds)
        }
    }
}

extension Snapshot {
    /// The number of the blob that `removeUnusedBlobs` goes on with.
    fileprivate func firstUnusedBlob(now: Int64) throws -> Int? {
        try connection.with(.unusedBlob) { statement in
            statement.bind(Int(now), at: 1)
            return try statement.step() ? statement.int(0) : nil
        }
    }
}
