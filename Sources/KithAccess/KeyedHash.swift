import COpenSSL
import KithDocuments

/// HMAC-SHA256 (RFC 2104) with a key that this process alone has, and forgets with its end.
struct KeyedHash: Sendable {
    private let key: [UInt8]

    /// - Throws: `.internal` when there is no randomness.
    init() throws(KithError) {
        var key = [UInt8](repeating: 0, count: 32)
        guard RAND_bytes(&key, Int32(key.count)) == 1 else { throw KithError(.internal, "OpenSSL has no randomness") }
        self.key = key
    }

    /// The hash of some parts, none of which can run into the next: each comes behind its length.
    func callAsFunction(_ parts: [UInt8]...) -> [UInt8] {
        var message: [UInt8] = []
        for part in parts {
            withUnsafeBytes(of: UInt64(part.count).bigEndian) { message.append(contentsOf: $0) }
            message += part
        }
        defer { message.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        var hash = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        let made = HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &hash, &count)
        precondition(made != nil && count == 32, "OpenSSL has no SHA-256")
        return hash
    }

    static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && CRYPTO_memcmp(one, other, one.count) == 0
    }
}
