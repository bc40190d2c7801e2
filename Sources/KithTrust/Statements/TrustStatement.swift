import KithDocuments

/// What a node says of keys, signed by it, so that others can pass it on: that a node is revoked, or that it has a new key
/// itself (docs/protocol/trust.md).
///
/// A value of this type has right signatures. Whether the signer's word counts is for `PeerBook` to say.
public struct TrustStatement: Hashable, Sendable {
    /// What is said.
    public enum Content: Hashable, Sendable {
        /// A node is no longer to be trusted.
        case revocation(of: NodeID, reason: String)
        /// The signer goes on under another key, which has signed as well.
        case rotation(to: NodeID)
    }

    /// The statement as it is stored and told.
    public let bytes: [UInt8]
    /// Whose key has signed it.
    public let signer: NodeID
    /// When, in seconds since 1970 by the signer's clock; for people, and to tell the signer's own statements apart.
    public let seconds: Int64
    /// What is said.
    public let content: Content

    /// Reads a statement and checks its signatures.
    ///
    /// - Throws: `.protocolViolation` when it is no statement; `.notTrusted` when a signature is wrong.
    public init(verifying bytes: [UInt8]) throws(KithError) {
        self = try StatementOutline(parsing: bytes).verified()
    }

    init(bytes: [UInt8], signer: NodeID, seconds: Int64, content: Content) {
        self.bytes = bytes
        self.signer = signer
        self.seconds = seconds
        self.content = content
    }

    /// Who is revoked, if it says that.
    public var revoked: NodeID? { if case .revocation(let subject, _) = content { subject } else { nil } }
    /// Why, if it says that somebody is revoked.
    public var reason: String { if case .revocation(_, let reason) = content { reason } else { "" } }
    /// The signer's next key, if it says that.
    public var successor: NodeID? { if case .rotation(let next) = content { next } else { nil } }

    /// Checks a reason that is to be said.
    ///
    /// - Throws: `.badRequest`.
    public static func check(reason: String) throws(KithError) {
        guard StatementOutline.isFit(reason: reason) else {
            throw KithError(
                .badRequest, "the reason is longer than \(TrustLimits.reasonBytesMax) bytes, or has control characters",
                remedy: "Say it in a short line")
        }
    }
}
