import COpenSSL
import KithDocuments

/// A hash by OpenSSL over bytes given in pieces; one object is used again and again.
///
/// It owns OpenSSL's algorithm and context. Looking the algorithm up costs more than hashing a small document, so it is
/// done once.
final class MessageDigest {
    /// Which hash, by OpenSSL's name.
    enum Kind: String {
        case sha256 = "SHA256"
        case sha1 = "SHA1"
        case md5 = "MD5"

        var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha1: 20
            case .md5: 16
            }
        }
    }

    private let kind: Kind
    private let algorithm: OpaquePointer
    private let context: OpaquePointer

    init(_ kind: Kind) throws(KithError) {
        guard let algorithm = EVP_MD_fetch(nil, kind.rawValue, nil) else {
            throw KithError(.internal, "OpenSSL has no \(kind.rawValue)", remedy: "Check the OpenSSL installation")
        }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(algorithm)
            throw KithError(.internal, "OpenSSL has no memory for \(kind.rawValue)")
        }
        self.kind = kind
        self.algorithm = algorithm
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
        EVP_MD_free(algorithm)
    }

    /// Begins a new hash.
    func begin() throws(KithError) {
        guard EVP_DigestInit_ex(context, algorithm, nil) == 1 else { throw failure }
    }

    /// Adds bytes.
    func add(_ bytes: UnsafeRawBufferPointer) throws(KithError) {
        guard EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1 else { throw failure }
    }

    /// Adds a number as four bytes, the highest first.
    func add(_ number: UInt32) throws(KithError) {
        var bytes = number.bigEndian
        let isDone = withUnsafeBytes(of: &bytes) { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
        guard isDone else { throw failure }
    }

    /// Ends the hash: as many bytes as its kind has.
    func end() throws(KithError) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: kind.byteCount)
        guard EVP_DigestFinal_ex(context, &digest, nil) == 1 else { throw failure }
        return digest
    }

    /// The hash of pieces that follow each other.
    func hash(_ pieces: [UInt8]...) throws(KithError) -> [UInt8] {
        try begin()
        for bytes in pieces {
            let isDone = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) == 1 }
            guard isDone else { throw failure }
        }
        return try end()
    }

    private var failure: KithError { KithError(.internal, "OpenSSL could not compute \(kind.rawValue)") }
}
