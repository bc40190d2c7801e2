import COpenSSL
import KithDocuments

/// SHA-1 without anything around it, for comparisons; it owns OpenSSL's context.
final class PlainSHA1 {
    private let context: OpaquePointer

    init() throws {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, EVP_sha1(), nil) == 1 else {
            throw KithError(.internal, "OpenSSL has no SHA-1")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    func add(_ bytes: [UInt8]) { bytes.withUnsafeBytes { add($0) } }

    func add(_ bytes: UnsafeRawBufferPointer) { _ = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }
}
