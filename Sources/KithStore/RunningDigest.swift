import KithDocuments

/// The SHA-1 of a blob, as far as its bytes have come.
///
/// `@unchecked Sendable`: a `BlobWriter` lets only one call at a time use it, each after the other by way of a lock, and a
/// `BlobBeginning` one read after the other.
final class RunningDigest: @unchecked Sendable {
    private let digest: MessageDigest

    init() throws(KithError) {
        digest = try MessageDigest(.sha1)
        try digest.begin()
    }

    func add(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try digest.add($0) } }

    func add(_ bytes: UnsafeRawBufferPointer) throws(KithError) { try digest.add(bytes) }

    func end() throws(KithError) -> [UInt8] { try digest.end() }
}
