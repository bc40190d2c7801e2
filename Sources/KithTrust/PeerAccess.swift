/// What a peer may do with a database of this node.
public enum PeerAccess: String, Sendable, Hashable, CaseIterable {
    /// It may read and write.
    case both
    /// It may read: what is changed here goes to it, and nothing that it changes comes here.
    case read
    /// It may write: what it changes comes here, and nothing that is here goes to it.
    case write
    /// For it there is no such database.
    /// Not `none`, which would be taken for "nothing was said" where there is an optional.
    case noAccess = "none"
}
