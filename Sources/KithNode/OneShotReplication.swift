import KithDocuments
import KithReplication
import KithTransport
import KithTrust

/// One replication that ends by itself: it dials the peer, replicates over a link of its own, and says what came of it.
@LoopActor
final class OneShotReplication {
    let request: OneShotRequest
    let key: LinkKey
    /// Signalled whenever `status` or `result` may have changed.
    let changed = ChangeSignal()
    /// How it stands, once there is a link.
    private(set) var status: ReplicationStatus?
    /// What came of it, once it is over.
    private(set) var result: Result<ReplicationStatus, KithError>?
    var dial: LinkDialler?
    var link: PeerLink?
    /// The pair's own link, where that does it.
    var followed: FollowedLink?
    /// Called once, when it is over.
    var onFinish: (() -> Void)?

    init(_ request: OneShotRequest) {
        self.request = request
        key = LinkKey(peer: request.peer, database: request.database)
    }

    /// Gives it up: what has travelled stays where it is.
    func cancel() {
        finish(.failure(KithError(.closed, "the replication was given up")))
        link?.end(closeCode: 1000, "given up", code: .closed)
    }

    func note(_ status: ReplicationStatus) {
        self.status = status
        changed.signal()
    }

    func finish(_ result: Result<ReplicationStatus, KithError>) {
        guard self.result == nil else { return }
        self.result = result
        dial?.cancel()
        dial = nil
        followed = nil
        onFinish?()
        onFinish = nil
        changed.signal()
    }
}
