import COpenSSL
import KithDocuments

/// SHA-256 of a few bytes (FIPS 180-4).
package enum ContentDigest {
    /// How many bytes it has.
    package static let byteCount = 32

    /// The digest of bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var hash = [UInt8](repeating: 0, count: byteCount)
        // With a digest that is built in and a buffer of its size this cannot fail.
        let result = EVP_Digest(bytes, bytes.count, &hash, nil, EVP_sha256(), nil)
        precondition(result == 1, "SHA-256 is not available")
        return hash
    }

    /// The digest of bytes as 64 lower-case hex digits.
    package static func hex(_ bytes: [UInt8]) -> String { Hexadecimal.text(sha256(bytes)) }
}
