import KithDocuments
import KithReplication
import KithTransport

/// A replication with a CouchDB server as the node knows it: what was asked for, and how it stands.
@LoopActor
final class HTTPReplicationJob {
    let number: Int
    /// The name of the checkpoint; for one that goes on, with that said of it.
    let id: String
    let request: HTTPReplicationRequest
    let startedSeconds = WallClock.seconds
    /// Signalled whenever `report` has changed.
    let changed = ChangeSignal()
    private(set) var report = HTTPReplicationReport(since: WallClock.seconds)
    /// Whether it is about to end.
    private(set) var isCancelled = false
    private var runner: HTTPReplicationRunner?
    /// Called at each change: by who keeps it,
    var onChange: ((HTTPReplicationJob) -> Void)?
    /// and for the document that asked for it.
    var onReport: ((HTTPReplicationJob) -> Void)?

    init(number: Int, _ request: HTTPReplicationRequest, _ database: OpenDatabase) {
        self.number = number
        id =
            request.checkpointName(request.directions.contains(.send) ? .send : .receive, of: database.database)
            + (request.isContinuous ? "+continuous" : "")
        self.request = request
    }

    /// What came of it, once it is over.
    var result: Result<ReplicationStatus, KithError>? { report.result }

    func start(_ database: OpenDatabase) {
        let runner = HTTPReplicationRunner(
            request, database: database.database, executor: StoreExecutor(database: database.database)
        ) { [weak self] report in
            EventLoop.shared.post { self?.note(report) }
        }
        self.runner = runner
        HTTPClientActor.post { runner.start() }
    }

    /// Gives it up: what has travelled stays where it is.
    func cancel() {
        isCancelled = true
        guard let runner else { return }
        HTTPClientActor.post { runner.stop() }
    }

    private func note(_ report: HTTPReplicationReport) {
        guard self.report.result == nil else { return }
        self.report = report
        if report.result != nil { runner = nil }
        changed.signal()
        onChange?(self)
        onReport?(self)
    }
}
