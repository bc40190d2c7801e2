import KithDocuments
import KithReplication
import KithStore
import KithTransport

/// The replications with CouchDB servers that are under way.
@LoopActor
final class HTTPReplicationManager {
    private let registry: DatabaseRegistry
    private let log: NodeLog
    private var jobs: [Int: HTTPReplicationJob] = [:]
    private var nextNumber = 1
    private var isStopped = false
    /// What was logged of a job last, so that a server that is away fills no log.
    private var logged: [Int: String] = [:]
    /// Called when something has changed that status shows.
    var onChange: (() -> Void)?

    init(registry: DatabaseRegistry, log: NodeLog) {
        self.registry = registry
        self.log = log
    }

    /// Those under way, in the order of their beginnings.
    var all: [HTTPReplicationJob] { jobs.values.sorted { $0.number < $1.number } }

    /// Begins a replication.
    ///
    /// - Throws: `.databaseNotFound`, `.busy` when too many are under way, `.closed`.
    func start(_ request: HTTPReplicationRequest) throws(KithError) -> HTTPReplicationJob {
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        let database = try registry.database(request.database)
        guard jobs.count < NodeLimits.couchDBReplicationsMax else {
            throw KithError(
                .busy, "\(NodeLimits.couchDBReplicationsMax) replications with CouchDB servers are under way already")
        }
        let job = HTTPReplicationJob(number: nextNumber, request, database)
        nextNumber += 1
        jobs[job.number] = job
        job.onChange = { [weak self] job in self?.changed(job) }
        log("\(request.database)  replication with \(request.address) begins (\(request.directions.name))")
        job.start(database)
        onChange?()
        return job
    }

    /// The replication under way that does the same.
    func find(like request: HTTPReplicationRequest) -> HTTPReplicationJob? {
        guard let database = registry.find(request.database) else { return nil }
        let id = HTTPReplicationJob(number: 0, request, database).id
        return all.first {
            !$0.isCancelled && $0.id.utf8.elementsEqual(id.utf8) && $0.request.directions == request.directions
        }
    }

    private func changed(_ job: HTTPReplicationJob) {
        let request = job.request
        let text: String? =
            switch job.result {
            case .success(let status)?:
                "is done: \(status.revisionsSent) sent, \(status.revisionsReceived) received, \(status.refusals) refused"
            case .failure(let error)?: "has ended: \(error.message)"
            case nil: job.report.lastError.map { "waits: \($0.message)" }
            }
        if let text, logged[job.number]?.utf8.elementsEqual(text.utf8) != true {
            log("\(request.database)  replication with \(request.address) \(text)")
            logged[job.number] = text
        } else if text == nil {
            logged[job.number] = nil
        }
        if job.result != nil {
            jobs[job.number] = nil
            logged[job.number] = nil
        }
        onChange?()
    }

    /// Ends those of a database that goes.
    func remove(database: DatabaseName) {
        for job in all where job.request.database == database { job.cancel() }
    }

    /// Ends all.
    func stop() {
        isStopped = true
        for job in all { job.cancel() }
    }
}
