/// Which side of a link this node is.
public enum ReplicationRole: Sendable {
    /// This node opened the link: it keeps the checkpoint and says what to replicate.
    case active
    /// The peer opened the link: this node only reacts.
    case passive
}
