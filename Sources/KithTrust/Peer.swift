import KithDocuments

/// A node that this one is paired with, or was before it was revoked.
public struct Peer: Sendable, Hashable {
    /// Who it is. This alone decides whether a connection is trusted.
    public internal(set) var id: NodeID
    /// What people here call it; unique among those that are trusted.
    public internal(set) var name: String
    /// When it was paired, as text of ISO 8601 in UTC; for people, it orders nothing.
    public internal(set) var trustedAt: String
    /// How it was paired; `nil` where that is not known.
    public internal(set) var pairedBy: PairingMethod?
    /// When a person last compared both fingerprints, as text of ISO 8601 in UTC.
    public internal(set) var verifiedAt: String?
    /// Where to look for it beside what discovery finds: `HOST:PORT` each, best first.
    public internal(set) var addresses: [String]
    /// How databases are shared with it, where `databases` says nothing else.
    public internal(set) var sharing: PeerSharing
    /// How single databases are shared with it. They need not be there.
    public internal(set) var databases: [DatabaseName: PeerSharing]
    /// The IDs that it had before it rotated its key, as far as they were followed here.
    public internal(set) var formerIDs: [NodeID]
    /// Who has revoked it, if somebody has: then it is not trusted.
    public internal(set) var revocation: PeerRevocation?

    /// Makes a value; `PeerBook.add` is what makes a peer trusted.
    public init(
        id: NodeID, name: String, trustedAt: String, pairedBy: PairingMethod? = nil, verifiedAt: String? = nil,
        addresses: [String] = [], sharing: PeerSharing = PeerSharing(), databases: [DatabaseName: PeerSharing] = [:],
        formerIDs: [NodeID] = [], revocation: PeerRevocation? = nil
    ) {
        self.id = id
        self.name = name
        self.trustedAt = trustedAt
        self.pairedBy = pairedBy
        self.verifiedAt = verifiedAt
        self.addresses = addresses
        self.sharing = sharing
        self.databases = databases
        self.formerIDs = formerIDs
        self.revocation = revocation
    }

    /// Whether this is or was its ID.
    public func has(_ id: NodeID) -> Bool { self.id == id || formerIDs.contains(id) }

    /// What it may do with a database.
    public func access(to database: DatabaseName) -> PeerAccess {
        databases[database]?.access ?? sharing.access ?? .both
    }

    /// When a database is replicated with it.
    public func replication(of database: DatabaseName) -> PeerReplication {
        databases[database]?.replication ?? sharing.replication ?? .continuous
    }
}
