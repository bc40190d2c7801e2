import COpenSSL
import KithDocuments

/// SHA-1 by OpenSSL over bytes given in pieces: the name of a blob, as Couchbase Lite and CouchDB's clients have it. It
/// tells contents apart; nothing is trusted because of it.
final class BlobHasher {
    private let context: OpaquePointer

    init() throws(KithError) {
        guard let context = EVP_MD_CTX_new() else {
            throw KithError(.internal, "OpenSSL has no memory for SHA-1")
        }
        self.context = context
        guard EVP_DigestInit_ex(context, EVP_sha1(), nil) == 1 else { throw Self.failure }
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Adds bytes.
    func add(_ bytes: UnsafeRawBufferPointer) throws(KithError) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { throw Self.failure }
    }

    /// Ends the hash: 20 bytes.
    func end() throws(KithError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 20)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw Self.failure }
        return digest
    }

    private static var failure: KithError { KithError(.internal, "OpenSSL could not compute SHA-1") }
}
