import KithDocuments
import KithReplication
import KithTransport

/// What is to be replicated with a database of a CouchDB server, and how.
public struct HTTPReplicationRequest: Sendable {
    /// The database here.
    public var database: DatabaseName
    /// The database there.
    public var address: CouchDBAddress
    /// To the server (`send`), from it (`receive`), or both.
    public var directions: ReplicationDirections
    /// Whether it goes on with what comes.
    public var isContinuous = false
    /// Whether the database there is made where it is not there.
    public var createsTarget = false
    /// The only documents that are replicated, at most `ReplicationLimits.subscribedDocumentsMax`; nil: all.
    public var documentIDs: Set<DocumentID>?
    /// What documents from the server must be like, as `_find` has it; nil: all.
    public var selector: JSONValue?
    /// A file with the authorities that are believed, in place of the system's.
    public var authorityFile: String?
    /// Whether it is tried again however often it fails, also where it ends by itself.
    var isPersistent = false
    /// Who asks.
    var credentials: HTTPCredentials?

    /// A request with the credentials of the URL, if it has some.
    public init(database: DatabaseName, address: CouchDBAddress, directions: ReplicationDirections) {
        self.database = database
        self.address = address
        self.directions = directions
        credentials = address.credentials
    }
}
