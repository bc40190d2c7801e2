/// What a request needs to be allowed; see `RESTNeed`.
enum RESTRight: Sendable {
    /// Nothing.
    case everybody
    /// To read the database.
    case read
    /// To read it and write to it.
    case write
    /// To administer it: its `_security`, design documents, purges.
    case administer
    /// To administer the node.
    case server
}
