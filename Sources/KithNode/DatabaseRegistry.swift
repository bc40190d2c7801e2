import CLinux
import Glibc
import KithDocuments
import KithStore
import KithTransport

/// The databases of a node: one file each in the home's folder `databases`.
@LoopActor
final class DatabaseRegistry {
    private let folder: String
    private var open: [DatabaseName: OpenDatabase] = [:]
    /// Those that are there and could not be opened, and why.
    private var failed: [DatabaseName: KithError] = [:]
    /// Names that are being made or removed, so that two callers cannot do both at once.
    private var busy: Set<DatabaseName> = []
    /// Comes when those that failed for a passing reason are tried again.
    private var retry: LoopTimer?
    private var isClosed = false
    /// Called when a database was opened or made.
    var onOpen: ((OpenDatabase) -> Void)?
    /// Called when a database is about to be closed for good.
    var onRemove: ((OpenDatabase) -> Void)?

    init(folder: String) { self.folder = folder }

    /// The open databases, by name.
    var all: [OpenDatabase] { open.values.sorted { $0.name < $1.name } }

    /// The database of this name.
    ///
    /// - Throws: `.databaseNotFound`, saying how to make it; why it could not be opened.
    func database(_ name: DatabaseName) throws(KithError) -> OpenDatabase {
        guard let database = open[name] else {
            if let error = failure(name) {
                throw KithError(
                    error.code, "the database \"\(name)\" is here and cannot be opened: \(error.message)",
                    remedy: error.code == .damaged
                        ? "Keep its file, but move \(path(name)) away; then restore a backup (kith db restore), or make it anew and let a peer send it"
                        : error.remedy, cause: error.cause)
            }
            throw KithError(
                .databaseNotFound, "there is no database \"\(name)\" here",
                remedy: "See which there are with kith db list, or make it with kith db create \(name)")
        }
        return database
    }

    func find(_ name: DatabaseName) -> OpenDatabase? { open[name] }

    /// Those that are there and could not be opened, by name, and why.
    var failures: [(name: DatabaseName, error: KithError)] {
        failed.keys.sorted().compactMap { name in failure(name).map { (name, $0) } }
    }

    /// Why a database that is there could not be opened; nil also when its file was moved away since.
    func failure(_ name: DatabaseName) -> KithError? {
        guard let error = failed[name] else { return nil }
        if isThere(name) { return error }
        failed[name] = nil
        return nil
    }

    private func isThere(_ name: DatabaseName) -> Bool {
        var information = stat()
        return lstat(path(name), &information) == 0
    }

    /// Opens every database of the home. One that cannot be opened is told and left alone; the others are opened.
    func openAll(onFailure: (String, KithError) -> Void) async throws(KithError) {
        var names: [DatabaseName] = []
        guard let directory = opendir(folder) else { throw HomeFile.error(folder, errno) }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let file = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name = Self.name(ofFile: file) { names.append(name) }
        }
        for name in names.sorted() {
            do {
                try await load(name, create: false)
            } catch {
                failed[name] = error
                onFailure(name.text, error)
            }
        }
        scheduleRetry()
    }

    /// Tries to open those again that could not be opened for a reason that passes: a full disk, a file system that was
    /// not there yet.
    func retryFailed() async {
        retry?.cancel()
        retry = nil
        for (name, error) in failures where error.code.isRetryable {
            // Others may have deleted it, or made another of the name, while the one before was opened.
            guard !isClosed, open[name] == nil, failed[name] != nil, busy.insert(name).inserted else { continue }
            defer { busy.remove(name) }
            do {
                try await load(name, create: false)
            } catch {
                failed[name] = error
            }
        }
        scheduleRetry()
    }

    private func scheduleRetry() {
        guard !isClosed, retry == nil, failures.contains(where: { $0.error.code.isRetryable }) else { return }
        retry = EventLoop.shared.schedule(afterSeconds: NodeLimits.reopenSeconds) { [weak self] in
            guard let self else { return }
            Task { await self.retryFailed() }
        }
    }

    /// Makes a database.
    ///
    /// - Throws: `.databaseExists` when there is one of this name; errors of the store.
    func create(_ name: DatabaseName) async throws(KithError) {
        try begin(name)
        defer { busy.remove(name) }
        try await load(name, create: true)
    }

    /// Makes a database of a file that `make` puts in its place.
    ///
    /// - Throws: `.databaseExists` when there is one of this name; what `make` throws; errors of the store.
    func create(_ name: DatabaseName, _ make: @Sendable (_ path: String) async throws -> Void) async throws {
        try begin(name)
        defer { busy.remove(name) }
        do {
            try await make(path(name))
        } catch ErrorCode.databaseExists {
            // One that could not be opened, and so is not among those that are open.
            throw KithError(
                .databaseExists, "there is a file of a database \"\(name)\" already, which is not open",
                remedy: "See the node's log, and move the file away")
        }
        try await load(name, create: false)
    }

    /// Keeps a name for a database that is being made.
    private func begin(_ name: DatabaseName) throws(KithError) {
        guard open[name] == nil, !busy.contains(name) else {
            throw KithError(.databaseExists, "there is a database \"\(name)\" already")
        }
        // Nothing is made in the place of one that cannot be opened.
        if failure(name) != nil { _ = try database(name) }
        guard open.count < NodeLimits.databasesMax else {
            throw KithError(.tooLarge, "a node has at most \(NodeLimits.databasesMax) databases")
        }
        busy.insert(name)
    }

    /// Removes a database and everything in it, here only; also one that cannot be opened.
    ///
    /// - Throws: `.databaseNotFound`; errors of the file system.
    func remove(_ name: DatabaseName) async throws(KithError) {
        let database = open[name]
        if database == nil, failure(name) == nil { _ = try self.database(name) }
        guard !busy.contains(name) else {
            throw KithError(.conflict, "the database \"\(name)\" is being made or removed")
        }
        busy.insert(name)
        defer { busy.remove(name) }
        if let database {
            open[name] = nil
            onRemove?(database)
            await database.close()
        }
        let path = path(name)
        try Database.removeFiles(at: path, name: name)
        guard access(path, F_OK) != 0 else {
            let error = KithError(
                .inputOutput, "cannot remove \(path)", remedy: "Remove it while the node does not run")
            // Neither open nor gone: nothing is made over it.
            failed[name] = error
            throw error
        }
        failed[name] = nil
    }

    /// Closes all; waits for writes under way.
    func closeAll() async {
        isClosed = true
        retry?.cancel()
        let databases = all
        open = [:]
        for database in databases { await database.close() }
    }

    private func load(_ name: DatabaseName, create: Bool) async throws(KithError) {
        let path = path(name)
        do {
            let database = try await Task.detached { try Database(path: path, name: name, create: create) }.value
            guard !isClosed else {
                database.close()
                throw KithError(.closed, "the node is stopping")
            }
            let opened = try OpenDatabase(name: name, database: database)
            open[name] = opened
            failed[name] = nil
            onOpen?(opened)
        } catch let error as KithError {
            throw error
        } catch {
            throw KithError(.internal, "the database \"\(name)\" cannot be opened", cause: error)
        }
    }

    private func path(_ name: DatabaseName) -> String { folder + "/" + name.fileName + ".kith" }

    private static func name(ofFile file: String) -> DatabaseName? {
        guard file.hasSuffix(".kith") else { return nil }
        return try? DatabaseName(fileName: String(file.dropLast(5)))
    }
}
