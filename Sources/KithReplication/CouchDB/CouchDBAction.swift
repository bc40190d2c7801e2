/// What the replicator wants of its shell.
public enum CouchDBAction: Sendable {
    /// Make a request. Each has a number of its own.
    case send(number: UInt64, CouchDBRequest)
    /// The next bytes of a request's body.
    case sendBody(number: UInt64, [UInt8], isLast: Bool)
    /// So many bytes of an answer have been taken; while too many have not, the shell stops reading.
    case consumed(number: UInt64, Int)
    /// Give a request up; nothing more is told of it.
    case cancel(number: UInt64)
    /// Do something in the database, and answer under this token.
    case store(token: UInt64, StoreRequest)
}
