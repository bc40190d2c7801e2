import KithDocuments

/// A node that this one is paired with.
public struct Peer: Sendable, Hashable {
    /// Who it is. This alone decides whether a connection is trusted.
    public let id: NodeID
    /// What people here call it; unique in the book.
    public let name: String
    /// When it was paired, as text of ISO 8601 in UTC; for people, it orders nothing.
    public let trustedAt: String
    /// Where to look for it beside what discovery finds: `HOST:PORT` each, best first.
    public let addresses: [String]
    /// How databases are shared with it, where `databases` says nothing else.
    public let sharing: PeerSharing
    /// How single databases are shared with it. They need not be there.
    public let databases: [DatabaseName: PeerSharing]

    /// Makes a value; `PeerBook.add` is what makes a peer trusted.
    public init(
        id: NodeID, name: String, trustedAt: String, addresses: [String] = [], sharing: PeerSharing = PeerSharing(),
        databases: [DatabaseName: PeerSharing] = [:]
    ) {
        self.id = id
        self.name = name
        self.trustedAt = trustedAt
        self.addresses = addresses
        self.sharing = sharing
        self.databases = databases
    }

    /// What it may do with a database.
    public func access(to database: DatabaseName) -> PeerAccess {
        databases[database]?.access ?? sharing.access ?? .both
    }

    /// When a database is replicated with it.
    public func replication(of database: DatabaseName) -> PeerReplication {
        databases[database]?.replication ?? sharing.replication ?? .continuous
    }
}
