/// Who makes requests on a connection, as far as the connection itself proves it.
enum RESTCaller: Sendable, Equatable {
    /// Who can open the socket in the home, which only its owner can.
    case owner
    /// Who holds the node's own key, and has proved it in the TLS handshake.
    case ownKey
    /// Nobody knows.
    case nobody
}
