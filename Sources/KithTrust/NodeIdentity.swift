import COpenSSL
import Glibc
import KithDocuments

/// The node's own key and certificate.
///
/// ```swift
/// let identity = try NodeIdentity.create(inFolder: "/var/lib/kith/identity", name: "kitchen-pi")
/// print(identity.nodeID)
/// ```
///
/// The folder holds `key.pem` (EC P-256, PKCS #8, mode 0600) and `certificate.pem` (X.509 v3, signed by the key itself,
/// the node's name as common name). Names and dates in the certificate decide nothing; the key does. The private key is
/// wiped from memory with the last copy of the identity, and appears in no description and no error.
public struct NodeIdentity: Sendable, CustomStringConvertible, CustomReflectable {
    /// The name of the key's file in the folder.
    public static let keyFileName = "key.pem"
    /// The name of the certificate's file in the folder.
    public static let certificateFileName = "certificate.pem"
    /// The name of the file in the folder that holds the statements of former rotations; there is none before the first.
    static let rotationsFileName = "rotations"

    /// Who this node is.
    public let nodeID: NodeID
    /// The common name in the certificate; for people, it decides nothing.
    public let certificateName: String
    /// The certificate as PEM text.
    public let certificatePEM: [UInt8]
    /// Until when the certificate is valid, in seconds since 1970. Peers do not look at it.
    public let validThroughSeconds: Int64
    /// Whether the key itself has signed the certificate; one that somebody else has signed is left to him.
    public let isSelfSigned: Bool
    /// The keys that this node had before, each with the statement of its rotation, oldest first.
    public let rotations: [TrustStatement]
    let key: SecretBytes

    /// The IDs that this node had before.
    public var formerIDs: [NodeID] { rotations.map(\.signer) }

    /// The private key as PEM text (PKCS #8). A copy: prefer `withPrivateKeyPEM(_:)`, whose memory is wiped.
    public var privateKeyPEM: [UInt8] { key.withBytes { [UInt8]($0) } }

    /// Lends the private key as PEM text without copying it; the pointer is valid only inside `body`.
    public func withPrivateKeyPEM<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try key.withBytes(body)
    }

    /// Names the node, never the key.
    public var description: String { "identity of \(nodeID.short)" }

    /// Shows the public parts only, so that dumping a value that holds an identity gives nothing away.
    public var customMirror: Mirror { Mirror(self, children: ["nodeID": nodeID], displayStyle: .struct) }

    /// Makes a new key and certificate, durably, and returns them as read back from the files.
    ///
    /// Both files are written into `FOLDER.partial`, which is then renamed, so a crash leaves both or none. The folder
    /// itself must not be there or be empty; the folder that holds it must be there.
    ///
    /// - Parameters:
    ///   - folder: where the two files shall be.
    ///   - name: the common name; see `NodeName`.
    /// - Throws: `badName`, `alreadyInitialised` when the folder has something in it, `homeNotWritable`, `diskFull`,
    ///   `inputOutput`, `internal` when OpenSSL cannot make a key.
    public static func create(inFolder folder: String, name: String) throws(KithError) -> NodeIdentity {
        try NodeName.check(name)
        return try place(try KeyAndCertificate.make(name: name), inFolder: folder)
    }

    /// Takes a key and a certificate that were made elsewhere, durably, in the same way as `create`.
    ///
    /// - Parameters:
    ///   - keyPath: a file that nobody else may read.
    ///   - certificatePath: the certificate, PEM.
    ///   - folder: see `create`.
    /// - Throws: `damaged` when they are not sound or do not belong together, `badConfiguration` for a key that others may read, and what `create` throws.
    public static func adopt(
        keyPath: String, certificatePath: String, inFolder folder: String
    ) throws(KithError) -> NodeIdentity {
        let key = try PrivateFiles.read(
            keyPath, bytesMax: TrustLimits.pemFileBytesMax, forbiddenMode: 0o077, remedyMode: "600"
        ) { bytes throws(KithError) in SecretBytes(copying: bytes) }
        let certificate = try PrivateFiles.read(
            certificatePath, bytesMax: TrustLimits.pemFileBytesMax, forbiddenMode: 0o022, remedyMode: "644"
        ) { bytes throws(KithError) in [UInt8](bytes) }
        guard let key, let certificate else {
            throw KithError(.notFound, "there is no file \(key == nil ? keyPath : certificatePath)")
        }
        _ = try KeyAndCertificate.read(
            key: key, certificate: certificate, keyPath: keyPath, certificatePath: certificatePath)
        return try place((key, certificate), inFolder: folder)
    }

    private static func place(
        _ made: (key: SecretBytes, certificate: [UInt8]), inFolder folder: String
    ) throws(KithError) -> NodeIdentity {
        let (parentPath, folderName) = PrivateFiles.split(folder)
        try PrivateFiles.withLockedFolder(parentPath) { parent throws(KithError) in
            let partialName = folderName + ".partial"
            removePartial(partialName, in: parent)  // what a crash left; the lock says that nobody is writing it now
            guard mkdirat(parent, partialName, 0o700) == 0 else {
                throw PrivateFiles.failure("the folder \(folder) cannot be made", errno)
            }
            do throws(KithError) {
                try fill(partialName, in: parent, made, rotations: [])
                guard renameat(parent, partialName, parent, folderName) == 0 else {
                    if [ENOTEMPTY, EEXIST, ENOTDIR].contains(errno) {
                        throw KithError(
                            .alreadyInitialised, "\(folder) is there already",
                            remedy: "Use the identity that is there, or another home")
                    }
                    throw PrivateFiles.failure("the folder \(folder) cannot be made", errno)
                }
            } catch {
                removePartial(partialName, in: parent)
                throw error
            }
            try PrivateFiles.sync(parent, path: parentPath)
        }
        return try load(fromFolder: folder)
    }

    /// Reads key and certificate.
    ///
    /// - Throws: `notInitialised` when they are not there, `badConfiguration` when others may read the key,
    ///   `damaged` when a file is not what it should be or the two do not belong together, `inputOutput`.
    public static func load(fromFolder folder: String) throws(KithError) -> NodeIdentity {
        let keyPath = folder + "/" + keyFileName
        let certificatePath = folder + "/" + certificateFileName
        let key = try PrivateFiles.read(
            keyPath, bytesMax: TrustLimits.pemFileBytesMax, forbiddenMode: 0o077, remedyMode: "600"
        ) { bytes throws(KithError) in SecretBytes(copying: bytes) }
        let certificate = try PrivateFiles.read(
            certificatePath, bytesMax: TrustLimits.pemFileBytesMax, forbiddenMode: 0o022, remedyMode: "600"
        ) { bytes throws(KithError) in [UInt8](bytes) }
        guard key != nil || certificate != nil else {
            throw KithError(
                .notInitialised, "\(folder) has no identity", remedy: "Run 'kith init', or give the right home")
        }
        guard let key else {
            throw KithError(
                .damaged, "\(keyPath) is missing beside its certificate", remedy: "Restore it from a backup")
        }
        guard let certificate else {
            throw KithError(
                .damaged, "\(certificatePath) is missing beside its key", remedy: "Restore it from a backup")
        }
        let pair = try KeyAndCertificate.read(
            key: key, certificate: certificate, keyPath: keyPath, certificatePath: certificatePath)
        return NodeIdentity(
            nodeID: pair.nodeID, certificateName: pair.commonName, certificatePEM: certificate,
            validThroughSeconds: pair.validThroughSeconds, isSelfSigned: pair.isSelfSigned,
            rotations: try rotations(to: pair.nodeID, path: folder + "/" + rotationsFileName), key: key)
    }

    /// Writes the files of an identity into a new folder.
    static func fill(
        _ name: String, in parent: Int32, _ made: (key: SecretBytes, certificate: [UInt8]),
        rotations: [TrustStatement]
    ) throws(KithError) {
        let folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard folder >= 0 else { throw PrivateFiles.failure("the folder \(name) cannot be opened", errno) }
        defer { close(folder) }
        try made.key.withBytes { bytes throws(KithError) in
            try PrivateFiles.create(keyFileName, in: folder, bytes)
        }
        try made.certificate.withUnsafeBufferPointer { bytes throws(KithError) in
            try PrivateFiles.create(certificateFileName, in: folder, UnsafeRawBufferPointer(bytes))
        }
        if !rotations.isEmpty {
            let text = rotations.map { Base64.encode($0.bytes) + "\n" }.joined()
            try Array(text.utf8).withUnsafeBufferPointer { bytes throws(KithError) in
                try PrivateFiles.create(rotationsFileName, in: folder, UnsafeRawBufferPointer(bytes))
            }
        }
        try PrivateFiles.sync(folder, path: name)
    }

    /// Removes a folder of an identity with its files.
    static func removePartial(_ name: String, in parent: Int32) {
        for file in [keyFileName, certificateFileName, rotationsFileName] {
            unlinkat(parent, name + "/" + file, 0)
            unlinkat(parent, name + "/" + file + ".partial", 0)
        }
        unlinkat(parent, name, AT_REMOVEDIR)
    }
}
