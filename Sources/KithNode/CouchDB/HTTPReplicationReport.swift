import KithDocuments
import KithReplication

/// How a replication with a CouchDB server stands.
struct HTTPReplicationReport: Sendable {
    /// How its session stands, or stood when it ended.
    var status = ReplicationStatus()
    /// Whether a session is under way.
    var isRunning = false
    /// Since when it is so, in seconds since 1970.
    var since: Int64
    /// What went wrong last, until it went well again.
    var lastError: KithError?
    /// When, in seconds since 1970.
    var lastErrorAt: Int64?
    /// When the next session begins, in seconds since 1970.
    var retryAt: Int64?
    /// When both sides last had the same, in seconds since 1970.
    var lastInSyncAt: Int64?
    /// What came of it, once it is over.
    var result: Result<ReplicationStatus, KithError>?
}
