import KithDocuments

/// How a session of the CouchDB replicator ended.
public enum CouchDBEnd: Sendable {
    /// All that was there has travelled, and the checkpoints are saved.
    case completed
    /// It cannot go on. Another session begins at the checkpoint.
    ///
    /// - `mayHelp`: whether another attempt may help without anybody changing anything.
    /// - `retryAfterSeconds`: how long the server wants to be left alone.
    case failed(KithError, mayHelp: Bool, retryAfterSeconds: Double?)
}
