/// What was found out of a request before its body is taken.
struct RESTPermit: Sendable {
    /// Who makes it.
    var caller: RESTCaller
    /// Whether what is written may be a design document, whatever way its ID comes.
    var mayWriteDesignDocuments: Bool
    /// Whether strangers may make it, so that its body must be small.
    var isForEverybody = false
}
