import Glibc
import KithDocuments
import KithReplication
import KithTransport

/// The documents of `_replicator`, in a file of the home that only its owner can read, and the replications that they ask for.
@LoopActor
final class ReplicatorDocuments {
    private let path: String
    private let manager: HTTPReplicationManager
    private let registry: DatabaseRegistry
    private let log: NodeLog
    private var documents: [String: ReplicatorDocument] = [:]
    private var jobs: [String: HTTPReplicationJob] = [:]
    /// Why the file is not used: it is left alone then.
    private var failure: KithError?
    private var isStopped = false
    /// When what could not begin is tried again.
    private var retry: LoopTimer?

    init(path: String, manager: HTTPReplicationManager, registry: DatabaseRegistry, log: NodeLog) {
        self.path = path
        self.manager = manager
        self.registry = registry
        self.log = log
    }

    /// Reads the file and begins what is not done.
    func start() {
        do {
            try load()
        } catch {
            failure = error
            log("the replications of _replicator do not run: \(error.message)")
        }
        for document in all { begin(document.id) }
    }

    /// Nothing is begun or written any more.
    func stop() {
        isStopped = true
        retry?.cancel()
    }

    private func load() throws(KithError) {
        guard access(path, F_OK) == 0 else { return }
        let bytes = try HomeFile.read(path, bytesMax: NodeLimits.replicatorFileBytesMax)
        func damaged() -> KithError {
            KithError(.damaged, "\(path) cannot be read", remedy: "Correct the file, or move it away")
        }
        guard let value = try? JSONValue(parsing: bytes) else { throw damaged() }
        guard value["version"] == 1 else {
            throw KithError(.newerFormat, "\(path) was written by a newer version")
        }
        for item in value["documents"]?.arrayValue ?? [] {
            guard let document = ReplicatorDocument(item) else { throw damaged() }
            documents[document.id] = document
        }
    }

    private func save(_ documents: [String: ReplicatorDocument]) throws(KithError) {
        let sorted = documents.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
        let value = JSONValue(object: [("version", 1), ("documents", .array(sorted.map(\.stored)))])
        let bytes = value.canonicalBytes()
        guard bytes.count <= NodeLimits.replicatorFileBytesMax else {
            throw KithError(.tooLarge, "_replicator has more than \(NodeLimits.replicatorFileBytesMax) bytes")
        }
        try HomeFile.write(bytes, to: path)
    }

    // MARK: Documents

    /// All, by ID.
    var all: [ReplicatorDocument] { documents.values.sorted { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) } }

    func document(_ id: String) throws -> ReplicatorDocument {
        if let failure { throw failure }
        guard let document = documents[id] else { throw CouchDBError.missing() }
        return document
    }

    /// Writes a document; it is durable, and its replication begins, before this returns.
    ///
    /// - Parameter revision: the one that it replaces.
    /// - Throws: `.conflict`; what `HTTPReplicationRequest.init(couchDB:)` throws; errors of the file.
    func put(_ id: String, _ value: JSONObject, revision: String?) throws(KithError) -> ReplicatorDocument {
        if let failure { throw failure }
        let before = documents[id]
        try check(before, revision)
        guard before != nil || documents.count < NodeLimits.couchDBReplicationsMax else {
            throw KithError(.tooLarge, "_replicator has \(documents.count) documents, the most there are")
        }
        var members = JSONObject()
        for (name, member) in value where !name.hasPrefix("_") { members[name] = member }
        for name in ["source", "target"] {
            if let end = members[name] {
                members[name] = ReplicatorDocument.keepingPassword(end, from: before?.members[name])
            }
        }
        _ = try HTTPReplicationRequest(couchDB: members)
        let document = ReplicatorDocument(id: id, generation: (before?.generation ?? 0) + 1, members: members)
        var changed = documents
        changed[id] = document
        try save(changed)
        documents = changed
        end(id)
        begin(id)
        return documents[id] ?? document
    }

    /// Removes a document and ends its replication.
    func remove(_ id: String, revision: String?) throws -> ReplicatorDocument {
        let document = try document(id)
        try check(document, revision)
        var changed = documents
        changed[id] = nil
        try save(changed)
        documents = changed
        end(id)
        return document
    }

    private func check(_ before: ReplicatorDocument?, _ revision: String?) throws(KithError) {
        let isSame = (before?.revision ?? "").utf8.elementsEqual((revision ?? "").utf8)
        guard isSame else { throw KithError(.conflict, "Document update conflict.") }
    }

    // MARK: Replications

    /// A database was opened: what waits for it begins.
    func databaseOpened() { for document in all where jobs[document.id] == nil { begin(document.id) } }

    private func begin(_ id: String) {
        guard !isStopped, failure == nil, let document = documents[id], document.isUnfinished, jobs[id] == nil else {
            return
        }
        do throws(KithError) {
            var request = try HTTPReplicationRequest(couchDB: document.members)
            request.isPersistent = true
            if request.directions == .receive, request.createsTarget, registry.find(request.database) == nil {
                return create(request.database, for: id)
            }
            guard manager.find(like: request) == nil else {
                throw KithError(.busy, "the same replication is under way already")
            }
            let job = try manager.start(request)
            jobs[id] = job
            job.onReport = { [weak self] job in self?.note(id, job) }
            set(id, .running, nil)
        } catch {
            failed(id, error)
        }
    }

    /// What passes by itself is tried again after a while, or when a database is opened; what does not is for a person.
    private func failed(_ id: String, _ error: KithError) {
        guard error.code.isRetryable || error.code == .databaseNotFound || error.code == .diskFull else {
            return set(id, .failed, error.message)
        }
        set(id, .crashing, error.message)
        guard retry == nil, !isStopped else { return }
        retry = EventLoop.shared.schedule(afterSeconds: NodeLimits.replicatorRetrySeconds) { [weak self] in
            self?.retry = nil
            self?.databaseOpened()
        }
    }

    private func create(_ name: DatabaseName, for id: String) {
        Task { @LoopActor in
            do throws(KithError) {
                // Opening it begins what waits for it.
                try await registry.create(name)
            } catch  where error.code == .databaseExists {
                begin(id)
            } catch {
                failed(id, error)
            }
        }
    }

    private func end(_ id: String) {
        guard let job = jobs.removeValue(forKey: id) else { return }
        job.onReport = nil
        job.cancel()
    }

    private func note(_ id: String, _ job: HTTPReplicationJob) {
        guard jobs[id] === job, !isStopped else { return }
        switch job.result {
        case .success?:
            jobs[id] = nil
            set(id, .completed, nil)
        case .failure(let error)?:
            // Its database was closed; it goes on when there is one again.
            jobs[id] = nil
            set(id, .crashing, error.message)
        case nil: set(id, job.report.retryAt == nil ? .running : .crashing, job.report.lastError?.message)
        }
    }

    private func set(_ id: String, _ state: ReplicatorDocument.State, _ reason: String?) {
        guard var document = documents[id] else { return }
        let isSame = document.state == state && document.reason == reason
        guard !isSame else { return }
        if document.state != state { document.stateSeconds = WallClock.seconds }
        let wasUnfinished = document.isUnfinished
        (document.state, document.reason) = (state, reason)
        documents[id] = document
        // What is not at its end begins again after a restart, however it stood.
        guard !wasUnfinished || !document.isUnfinished else { return }
        do {
            try save(documents)
        } catch {
            log("how replications of _replicator stand cannot be written: \(error.message)", key: "replicator")
        }
    }
}
