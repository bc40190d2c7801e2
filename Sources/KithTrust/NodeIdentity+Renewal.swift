import CLinux
import Glibc
import KithDocuments

// A certificate is renewed for the same key, and stays the same node. A key is rotated: the node goes on under another
// one, which the old one has signed.

extension NodeIdentity {
    /// Whether the certificate ends so soon that it is to be renewed: never one that an authority has signed.
    ///
    /// - Parameter seconds: now, since 1970.
    public func isToBeRenewed(atSeconds seconds: Int64) -> Bool {
        isSelfSigned && validThroughSeconds - Int64(TrustLimits.certificateRenewDays) * 86_400 < seconds
    }

    /// Makes a new certificate for the key, durably: a crash leaves the old one or the new one.
    ///
    /// - Parameters:
    ///   - folder: that of the identity.
    ///   - name: the common name.
    /// - Returns: the identity with it.
    /// - Throws: `badName`, `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    public static func renewCertificate(inFolder folder: String, name: String) throws(KithError) -> NodeIdentity {
        try NodeName.check(name)
        let old = try load(fromFolder: folder)
        let certificate = try KeyAndCertificate.makeCertificate(for: old.key, name: name)
        try certificate.withUnsafeBufferPointer { bytes throws(KithError) in
            try PrivateFiles.replace(folder + "/" + certificateFileName, UnsafeRawBufferPointer(bytes))
        }
        return try load(fromFolder: folder)
    }

    /// Makes a new key with a certificate, and the statement that the old key signs; the old key is gone afterwards.
    ///
    /// All is written into `FOLDER.partial`, which then changes places with the folder in one step of the file system: a
    /// crash leaves the old identity or the new one, whole.
    ///
    /// - Parameters:
    ///   - folder: that of the identity. No node may run on it.
    ///   - name: the common name.
    ///   - seconds: now, since 1970.
    /// - Returns: the new identity.
    /// - Throws: `badName`; `tooLarge` when the key was rotated too often; `homeNotWritable`, `diskFull`, `inputOutput`,
    ///   also where the file system cannot exchange two folders; `badConfiguration` when something is in the way. Then nothing
    ///   has changed, but when the disk fails at the last moment: then the new identity is there, and a crash may bring back the
    ///   old one.
    public static func rotateKey(
        inFolder folder: String, name: String, seconds: Int64
    ) throws(KithError) -> NodeIdentity {
        try NodeName.check(name)
        let old = try load(fromFolder: folder)
        guard old.rotations.count < TrustLimits.formerKeysMax else {
            throw KithError(
                .tooLarge,
                "the key was rotated \(TrustLimits.formerKeysMax) times, which is the most that peers follow",
                remedy: "Make a new home, and pair it")
        }
        let (parentPath, folderName) = PrivateFiles.split(folder)
        let made = try KeyAndCertificate.make(name: name)
        let pair = try KeyAndCertificate.read(
            key: made.key, certificate: made.certificate, keyPath: "the new key", certificatePath: "its certificate")
        let next = NodeIdentity(
            nodeID: pair.nodeID, certificateName: name, certificatePEM: made.certificate,
            validThroughSeconds: pair.validThroughSeconds, isSelfSigned: true, rotations: [], key: made.key)
        let rotations = old.rotations + [try old.rotation(to: next, seconds: seconds)]
        try PrivateFiles.withLockedFolder(parentPath) { parent throws(KithError) in
            let partialName = folderName + ".partial"
            removePartial(partialName, in: parent)
            guard mkdirat(parent, partialName, 0o700) == 0 else {
                if errno == EEXIST {
                    throw KithError(
                        .badConfiguration, "\(folder).partial is in the way: there are files in it that are not Kith's",
                        remedy: "Move it away")
                }
                throw PrivateFiles.failure("the folder \(folder).partial cannot be made", errno)
            }
            do throws(KithError) {
                try fill(partialName, in: parent, made, rotations: rotations)
                guard kith_exchange(parent, partialName, folderName) == 0 else {
                    throw PrivateFiles.failure("the folder \(folder) cannot change places with the new one", errno)
                }
            } catch {
                removePartial(partialName, in: parent)
                throw error
            }
            try PrivateFiles.sync(parent, path: parentPath)
            // The old key.
            removePartial(partialName, in: parent)
        }
        return try load(fromFolder: folder)
    }

    /// Removes what a crash has left beside the folder: a new key that nobody knows, or an old one that is not used any more.
    public static func sweep(besideFolder folder: String) {
        let (parentPath, folderName) = PrivateFiles.split(folder)
        try? PrivateFiles.withLockedFolder(parentPath) { removePartial(folderName + ".partial", in: $0) }
    }

    /// Reads the statements of former rotations, each of which leads to the next, and the last to this key.
    static func rotations(to id: NodeID, path: String) throws(KithError) -> [TrustStatement] {
        let bytesMax = TrustLimits.formerKeysMax * TrustLimits.statementBytesMax * 2
        let text = try PrivateFiles.read(path, bytesMax: bytesMax, forbiddenMode: 0o022, remedyMode: "600") {
            bytes throws(KithError) in String(decoding: bytes, as: UTF8.self)
        }
        var result: [TrustStatement] = []
        for line in (text ?? "").split(separator: "\n") {
            guard let bytes = Base64.decode(String(line)), let statement = try? TrustStatement(verifying: bytes),
                statement.successor != nil, result.last.map({ $0.successor == statement.signer }) ?? true
            else {
                throw KithError(
                    .damaged, "\(path) has a line that is no statement of a rotation, or not the next one",
                    remedy: "Restore the identity from a backup")
            }
            result.append(statement)
        }
        guard result.isEmpty || result.last?.successor == id, result.count <= TrustLimits.formerKeysMax else {
            throw KithError(
                .damaged, "\(path) is of another key", remedy: "Restore the identity from a backup")
        }
        return result
    }
}
