/// What kind of error happened, as an open set: a newer library may have codes that an older one does not know.
///
/// Each code has one row in the table of this file, which is the only place that says how it is told to the outside:
/// the HTTP status (also the code of a BLIP error in the domain `HTTP`), the exit code of the command-line program,
/// and whether trying again may help. A code is never reused for another meaning.
public struct ErrorCode: Hashable, Sendable, CustomStringConvertible {
    /// The code as it is written in JSON (`"error"`), logs and status.
    public let name: String
    /// The HTTP status that REST answers, and the `Error-Code` in a BLIP error of domain `HTTP`.
    public let httpStatus: Int
    /// The exit code of the command-line program.
    public let exitCode: Int32
    /// Whether the same call may succeed later without anybody changing anything.
    public let isRetryable: Bool

    init(_ name: String, http: Int, exit: Int32, retryable: Bool = false) {
        self.name = name
        self.httpStatus = http
        self.exitCode = exit
        self.isRetryable = retryable
    }

    /// The name.
    public var description: String { name }
    /// Whether both have the same name.
    public static func == (a: ErrorCode, b: ErrorCode) -> Bool { a.name == b.name }
    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

// The table. Exit codes 0 to 5 and 64 belong to the command line itself (see the manual page).
extension ErrorCode {
    // The node
    /// No node answers on the home's socket.
    public static let noNode = ErrorCode("no_node", http: 503, exit: 3, retryable: true)
    /// The node is there but does not answer in time, or access is denied.
    public static let nodeUnreachable = ErrorCode("node_unreachable", http: 503, exit: 4, retryable: true)
    /// Another node runs on the same home.
    public static let alreadyRunning = ErrorCode("already_running", http: 409, exit: 20)
    /// The port is taken by another program.
    public static let portBusy = ErrorCode("port_busy", http: 503, exit: 21)
    /// The home cannot be written.
    public static let homeNotWritable = ErrorCode("home_not_writable", http: 500, exit: 22)
    /// The home, or a database in it, was written by a newer version.
    public static let newerFormat = ErrorCode("newer_format", http: 500, exit: 23)
    /// There is no home yet: `kith init` makes it.
    public static let notInitialised = ErrorCode("not_initialised", http: 500, exit: 24)
    /// `kith init` on a home that is there already.
    public static let alreadyInitialised = ErrorCode("already_initialised", http: 409, exit: 25)
    /// The configuration, or an option of the command line, cannot be used.
    public static let badConfiguration = ErrorCode("bad_configuration", http: 500, exit: 28)

    // Documents and databases
    /// The document, or the revision asked for, is not there.
    public static let notFound = ErrorCode("not_found", http: 404, exit: 10)
    /// The database is not there.
    public static let databaseNotFound = ErrorCode("database_not_found", http: 404, exit: 11)
    /// The write does not name the document's current revision.
    public static let conflict = ErrorCode("conflict", http: 409, exit: 12)
    /// The versions of a document in conflict cannot be merged without a person.
    public static let cannotMerge = ErrorCode("cannot_merge", http: 409, exit: 12)
    /// The database is there already.
    public static let databaseExists = ErrorCode("file_exists", http: 412, exit: 13)
    /// The bytes are not a document that can be kept: malformed, out of range, or a reserved name.
    public static let badDocument = ErrorCode("bad_document", http: 400, exit: 14)
    /// A document refers to an attachment whose bytes are not stored.
    public static let attachmentMissing = ErrorCode("missing_stub", http: 412, exit: 14)
    /// A document ID, database name or revision ID that is not legal.
    public static let badName = ErrorCode("bad_name", http: 400, exit: 15)
    /// More bytes than a documented limit allows.
    public static let tooLarge = ErrorCode("too_large", http: 413, exit: 18)
    /// The request cannot be understood.
    public static let badRequest = ErrorCode("bad_request", http: 400, exit: 19)
    /// A delta was sent although none was asked for; the sender answers by sending the whole revision.
    public static let deltaNotSupported = ErrorCode("delta_not_supported", http: 422, exit: 19)
    /// The method of the request is not possible at this place.
    public static let methodNotAllowed = ErrorCode("method_not_allowed", http: 405, exit: 19)
    /// The request is understood, but this node has nothing that answers it.
    public static let notImplemented = ErrorCode("not_implemented", http: 501, exit: 29)

    // Trust
    /// Text that is not a node ID: a character is mistyped or missing.
    public static let badNodeID = ErrorCode("bad_node_id", http: 400, exit: 16)
    /// The other side is not paired with this node, or this node not with it.
    public static let notTrusted = ErrorCode("not_trusted", http: 403, exit: 17)
    /// Another key answered than the one that was expected.
    public static let wrongKey = ErrorCode("wrong_key", http: 403, exit: 17)
    /// One side does not let the other do it.
    public static let forbidden = ErrorCode("forbidden", http: 403, exit: 31)
    /// Another peer has this name already.
    public static let nameTaken = ErrorCode("name_taken", http: 409, exit: 30)

    // Storage and the machine
    /// The file is damaged.
    public static let damaged = ErrorCode("damaged", http: 500, exit: 26)
    /// No space is left where the databases are.
    public static let diskFull = ErrorCode("disk_full", http: 507, exit: 27, retryable: true)
    /// Reading or writing failed in the operating system.
    public static let inputOutput = ErrorCode("io_error", http: 500, exit: 74, retryable: true)
    /// Too much waits already; nothing was begun.
    public static let busy = ErrorCode("busy", http: 503, exit: 75, retryable: true)
    /// The operation was stopped: the database or the node is closing.
    public static let closed = ErrorCode("closed", http: 503, exit: 75, retryable: true)

    // Connections
    /// The connection could not be made or was lost.
    public static let connectionLost = ErrorCode("connection_lost", http: 503, exit: 75, retryable: true)
    /// The other side did not answer in time.
    public static let timedOut = ErrorCode("timed_out", http: 504, exit: 75, retryable: true)
    /// The other side broke the rules of the protocol.
    public static let protocolViolation = ErrorCode("protocol_violation", http: 400, exit: 76)
    /// TLS failed for another reason than trust.
    public static let tlsFailed = ErrorCode("tls_failed", http: 502, exit: 76, retryable: true)
    /// A bug in Kith.
    public static let `internal` = ErrorCode("internal_error", http: 500, exit: 70)
}
