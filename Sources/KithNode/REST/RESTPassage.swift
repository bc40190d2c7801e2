/// What the door says of a request that it lets pass.
struct RESTPassage: Sendable {
    /// Fields that the answer gets, so that the page that has asked may read it.
    var headers: [(name: String, value: String)] = []
    /// Whether it is for a page of another origin than this server.
    var isOfAnotherOrigin = false
    /// Whether what a browser adds by itself proves who asks: the cookie, the certificate.
    var countsBrowserProof = true
    /// What a browser is told that only asks whether a page may ask; nothing else is done then.
    var preflight: HTTPAnswer?
}
