/// What is known about a connection when it is ready.
public struct ConnectionInfo: Sendable {
    /// The other end, for logs and status: `192.168.1.5:4984`, or the path of a Unix socket.
    public let remoteName: String
    /// The other end's TCP address; `nil` on a Unix socket.
    public let remoteAddress: SocketAddress?
    /// This end's TCP address; `nil` on a Unix socket.
    public let localAddress: SocketAddress?
    /// The certificate the peer has shown and proved to own; `nil` without TLS, and where a listener
    /// takes peers without one.
    public let peer: PeerCertificate?
    /// `TLSv1.3` or `TLSv1.2`; `nil` without TLS.
    public let tlsVersion: String?
    /// The cipher suite; `nil` without TLS.
    public let tlsSuite: String?
    /// The application protocol that the peer has asked for and that the context has (RFC 7301); `nil` for none.
    public let applicationProtocol: String?
    /// The user the process at the other end of a Unix socket runs as; `nil` on TCP.
    public let peerUserID: UInt32?
}
