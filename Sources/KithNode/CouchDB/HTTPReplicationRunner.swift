import KithDocuments
import KithReplication
import KithStore
import KithTransport

/// A replication with a CouchDB server: one session after the other, each from the checkpoint of the one before, with waits between
/// those that fail.
@HTTPClientActor
final class HTTPReplicationRunner {
    private let request: HTTPReplicationRequest
    private let database: Database
    private let executor: StoreExecutor
    private var report: HTTPReplicationReport
    private let onReport: @Sendable (HTTPReplicationReport) -> Void
    private var session: HTTPReplicationSession?
    private var backoff = CouchDBBackoff()
    private var timer: HTTPClientTimer?
    private var observation: ObservationToken?
    private var isOver = false
    /// When what was refused was offered again last, and the session reached the server.
    private var offeredNanoseconds: UInt64?
    private var isOffering = false
    /// How often each of some revisions was under way when a session failed, since replication was in sync last.
    private var failures: [CouchDBConfiguration.RefusedRevision: Int] = [:]
    /// Whether the server has answered what it was asked first.
    private var hasReached = false
    private static let publishNanoseconds: UInt64 = 100_000_000
    private var publishedNanoseconds: UInt64 = 0
    private var publishedState: ReplicationStatus.State?
    private var publishTimer: HTTPClientTimer?
    /// What sessions before have counted.
    private var before = ReplicationStatus()

    nonisolated init(
        _ request: HTTPReplicationRequest, database: Database, executor: StoreExecutor,
        onReport: @escaping @Sendable (HTTPReplicationReport) -> Void
    ) {
        self.request = request
        self.database = database
        self.executor = executor
        self.onReport = onReport
        report = HTTPReplicationReport(since: WallClock.seconds)
    }

    func start() {
        guard request.directions.contains(.send), request.isContinuous else { return begin() }
        observation = database.observe { [weak self] _ in
            HTTPClientActor.post { self?.session?.noteChange() }
        }
        begin()
    }

    /// Gives it up; what has travelled stays.
    func stop() {
        finish(.failure(KithError(.closed, "the replication was given up")))
        session?.stop()
    }

    private func begin() {
        guard !isOver else { return }
        timer = nil
        report.retryAt = nil
        let wanted = request
        let offersAgain =
            offeredNanoseconds.map { EventLoop.monotonicNanoseconds >= $0 + NodeLimits.offerAgainNanoseconds } ?? true
        isOffering = offersAgain
        database.submitRead { snapshot in
            guard offersAgain else { return [] }
            return try snapshot.refusals(peer: wanted.address.url, limit: NodeLimits.refusalsRememberedMax)
        } completion: { result in
            HTTPClientActor.post { [weak self] in self?.begin(result) }
        }
    }

    private func begin(_ refused: Result<[DocumentRefusal], any Error>) {
        guard !isOver else { return }
        let refusals: [DocumentRefusal]
        switch refused {
        case .success(let found): refusals = found
        case .failure(let error):
            let error = error as? KithError ?? KithError(.internal, "the database cannot be read", cause: error)
            return ended(.failed(error, mayHelp: error.code.isRetryable, retryAfterSeconds: nil), ReplicationStatus())
        }
        var configuration = configuration
        configuration.refusedBefore = refusals.compactMap { refusal in
            guard let id = try? DocumentID(refusal.key.id), request.documentIDs?.contains(id) != false,
                let revision = try? RevisionID(parsing: refusal.revision),
                request.directions.contains(refusal.key.isOutgoing ? .send : .receive)
            else { return nil }
            return .init(name: RevisionName(id: id, revision: revision), isOutgoing: refusal.key.isOutgoing)
        }
        let session = HTTPReplicationSession(configuration, request, executor: executor)
        self.session = session
        report.isRunning = true
        session.onProgress = { [weak self] status in self?.note(status) }
        session.onEnd = { [weak self] end, status in self?.ended(end, status) }
        session.start()
    }

    private var configuration: CouchDBConfiguration {
        var result = CouchDBConfiguration(
            directions: request.directions, isContinuous: request.isContinuous,
            sendCheckpoint: request.checkpointName(.send, of: database),
            receiveCheckpoint: request.checkpointName(.receive, of: database),
            sessionID: RESTDocument.newID(), boundary: RESTDocument.newID(), peerName: request.address.url)
        result.failuresBefore = failures
        result.createsTarget = request.createsTarget
        result.documentIDs = request.documentIDs
        result.selector = request.selector
        return result
    }

    // MARK: What sessions tell

    private func note(_ status: ReplicationStatus) {
        guard !isOver else { return }
        report.status = added(status)
        if status.state != .connecting { hasReached = true }
        if isOffering, status.state == .idle {
            (isOffering, offeredNanoseconds) = (false, EventLoop.monotonicNanoseconds)
        }
        if status.state == .idle {
            report.lastInSyncAt = WallClock.seconds
            (report.lastError, report.lastErrorAt) = (nil, nil)
            backoff.succeeded()
            failures = [:]
        } else if status.revisionsSent + status.revisionsReceived > 0 {
            backoff.succeeded()
        }
        publish()
    }

    private func note(failed suspects: [CouchDBConfiguration.RefusedRevision]) {
        if failures.count + suspects.count > NodeLimits.suspectsMax { failures = [:] }
        for suspect in suspects { failures[suspect, default: 0] += 1 }
    }

    /// Tells of what has changed, at once where the state has, and a few times in a second otherwise.
    private func publish() {
        let now = EventLoop.monotonicNanoseconds
        let isUrgent = report.status.state != publishedState || report.result != nil
        guard isUrgent || now >= publishedNanoseconds + Self.publishNanoseconds else {
            guard publishTimer == nil else { return }
            publishTimer = HTTPClientActor.schedule(afterSeconds: Double(Self.publishNanoseconds) / 1e9) {
                [weak self] in
                self?.publishTimer = nil
                self?.publish()
            }
            return
        }
        (publishedNanoseconds, publishedState) = (now, report.status.state)
        publishTimer?.cancel()
        publishTimer = nil
        onReport(report)
    }

    /// With what sessions before have moved.
    private func added(_ status: ReplicationStatus) -> ReplicationStatus {
        var result = status
        result.revisionsSent += before.revisionsSent
        result.revisionsReceived += before.revisionsReceived
        result.refusals += before.refusals
        result.attachmentBytesSent += before.attachmentBytesSent
        result.attachmentBytesReceived += before.attachmentBytesReceived
        return result
    }

    private func ended(_ end: CouchDBEnd, _ status: ReplicationStatus) {
        guard !isOver else { return }
        note(failed: session?.suspects ?? [])
        session = nil
        report.isRunning = false
        report.since = WallClock.seconds
        report.status = added(status)
        before = report.status
        switch end {
        case .completed:
            report.lastInSyncAt = WallClock.seconds
            finish(.success(report.status))
        case .failed(let error, let mayHelp, let retryAfterSeconds):
            report.lastError = error
            report.lastErrorAt = WallClock.seconds
            let delay = backoff.failed(retryAfterSeconds: retryAfterSeconds, random: Double.random(in: 0...1))
            // Somebody waits for one that ends by itself, so it gives up in the end.
            let isUnreached = !hasReached && error.code != .busy
            let attempts = isUnreached ? NodeLimits.couchDBFirstAttemptsMax : NodeLimits.couchDBAttemptsMax
            let givesUp =
                !request.isContinuous && !request.isPersistent
                && (!mayHelp || backoff.failures >= attempts)
            guard !givesUp else { return finish(.failure(error)) }
            report.retryAt = WallClock.seconds + Int64(delay.rounded(.up))
            publishedNanoseconds = 0
            publish()
            timer = HTTPClientActor.schedule(afterSeconds: delay) { [weak self] in self?.begin() }
        }
    }

    private func finish(_ result: Result<ReplicationStatus, KithError>) {
        guard !isOver else { return }
        isOver = true
        timer?.cancel()
        observation?.cancel()
        observation = nil
        report.isRunning = false
        report.result = result
        publish()
    }
}
