import KithDocuments
import KithStore

/// What a replication machine wants of the store; its shell performs it and hands back a `StoreResult`.
public enum StoreRequest: Sendable {
    /// Reads the changes after a sequence. With `counts`, also counts the documents that remain after them.
    case readChanges(since: UInt64, limit: Int, counts: Bool)
    /// Asks which of these revisions are here, and which ancestors of those that are not.
    case lookUp([RevisionName])
    /// Reads revisions with their histories, in order, until `bytesMax` bytes of bodies are passed; the answer is shorter
    /// then. Each with what the peer has of the document, so that the history can say what of that is superseded.
    case readRevisions([(name: RevisionName, ancestors: [RevisionID])], bytesMax: Int)
    /// Stores revisions that the peer sent.
    case insert([IncomingRevision])
    /// Reads a local document.
    case readLocal(name: String)
    /// Writes local documents together.
    case writeLocal([LocalDocument])
    /// Writes a peer's checkpoint if its revision is still the expected one (0: there is none yet).
    case writeCheckpoint(name: String, expectedRevision: UInt64, body: [UInt8], progress: LocalDocument?)

    /// Whether this request changes the database.
    public var isWrite: Bool {
        switch self {
        case .readChanges, .lookUp, .readRevisions, .readLocal: false
        case .insert, .writeLocal, .writeCheckpoint: true
        }
    }
}
