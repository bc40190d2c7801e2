/// What a request needs to be allowed; see `RESTNeed`.
enum RESTRight: Sendable {
    /// Nothing.
    case everybody
    /// To read the database.
    case read
    /// To write to it, and for users to read it.
    case write
    /// To read and write at once: what is written was read here.
    case copy
    /// To administer it: its `_security`, design documents, purges.
    case administer
    /// To administer the node.
    case server
}
