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

    /// Makes a value; `PeerBook.add` is what makes a peer trusted.
    public init(id: NodeID, name: String, trustedAt: String, addresses: [String] = []) {
        self.id = id
        self.name = name
        self.trustedAt = trustedAt
        self.addresses = addresses
    }
}
