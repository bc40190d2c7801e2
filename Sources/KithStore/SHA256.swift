import COpenSSL
import KithDocuments

/// SHA-256 by OpenSSL, over bytes given in pieces; one object is used again and again.
///
/// It owns OpenSSL's algorithm and context. Looking the algorithm up costs more than hashing a small document, so it is
/// done once.
final class SHA256 {
    private let algorithm: OpaquePointer
    private let context: OpaquePointer

    init() throws(KithError) {
        guard let algorithm = EVP_MD_fetch(nil, "SHA256", nil) else {
            throw KithError(.internal, "OpenSSL has no SHA-256", remedy: "Check the OpenSSL installation")
        }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(algorithm)
            throw KithError(.internal, "OpenSSL has no memory for SHA-256")
        }
        self.algorithm = algorithm
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// Begins a new hash.
    func begin() throws(KithError) {
        guard EVP_DigestInit_ex(context, algorithm, nil) == 1 else { throw Self.failure }
    }

    /// Adds bytes.
    func add(_ bytes: UnsafeRawBufferPointer) throws(KithError) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { throw Self.failure }
    }

    /// Adds a number as four bytes, the highest first.
    func add(_ number: UInt32) throws(KithError) {
        var bytes = number.bigEndian
        let isDone = withUnsafeBytes(of: &bytes) { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
        guard isDone else { throw Self.failure }
    }

    /// Ends the hash: 32 bytes.
    func end() throws(KithError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw Self.failure }
        return digest
    }

    /// The hash of two pieces.
    func hash(_ first: [UInt8], _ second: [UInt8]) throws(KithError) -> [UInt8] {
        try begin()
        for bytes in [first, second] {
            let isDone = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
            guard isDone else { throw Self.failure }
        }
        return try end()
    }

    private static var failure: KithError { KithError(.internal, "OpenSSL could not compute SHA-256") }
}
