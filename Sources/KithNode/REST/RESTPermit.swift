import KithDocuments

/// What was found out of a request before its body is taken.
struct RESTPermit: Sendable {
    /// Who makes it.
    var caller: RESTCaller
    /// Whether what is written may be a design document, whatever way its ID comes.
    var mayWriteDesignDocuments: Bool
    /// Whether strangers may make it, so that its body must be small.
    var isForEverybody = false
    /// The database that it is about; nil where it is the node.
    var database: DatabaseName?
    /// Whether the caller has proved it with a password in this request.
    var isByPassword = false
    /// The cookie of a session that has used some of its time, with more of it.
    var cookie: String?
}
