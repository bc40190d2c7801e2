import KithDocuments

/// The MD5 of bytes given in pieces, by which CouchDB tells that they came as they were sent. It protects from accidents
/// and not from anybody: what is kept is known by its SHA-1.
public final class ContentMD5 {
    private let digest: MessageDigest

    /// - Throws: `.internal` when OpenSSL has no MD5.
    public init() throws(KithError) {
        digest = try MessageDigest(.md5)
        try digest.begin()
    }

    /// Adds bytes.
    public func add(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try digest.add($0) } }

    /// The hash of all of them, 16 bytes. Nothing can be added after it.
    public func end() throws(KithError) -> [UInt8] { try digest.end() }
}
