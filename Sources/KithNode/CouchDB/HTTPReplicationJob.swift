import KithDocuments
import KithReplication
import KithTransport

/// A replication with a CouchDB server as the node knows it: what was asked for, and how it stands.
@LoopActor
final class HTTPReplicationJob {
    let number: Int
    let request: HTTPReplicationRequest
    let startedSeconds = WallClock.seconds
    /// Signalled whenever `report` has changed.
    let changed = ChangeSignal()
    private(set) var report = HTTPReplicationReport(since: WallClock.seconds)
    private var runner: HTTPReplicationRunner?
    /// Called at each change.
    var onChange: ((HTTPReplicationJob) -> Void)?

    init(number: Int, _ request: HTTPReplicationRequest) {
        self.number = number
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
        guard let runner else { return }
        HTTPClientActor.post { runner.stop() }
    }

    private func note(_ report: HTTPReplicationReport) {
        guard self.report.result == nil else { return }
        self.report = report
        if report.result != nil { runner = nil }
        changed.signal()
        onChange?(self)
    }
}
