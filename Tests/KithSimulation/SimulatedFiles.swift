import KithDocuments
import KithStore

/// The files that simulated documents have attached: few, and of all sizes, so that documents share them.
///
/// The name of an attachment says which file it is, so that at the end its bytes can be compared.
struct SimulatedFiles: Sendable {
    /// What an edit does with the attachments of its parent.
    enum Change: CaseIterable {
        case keep, add, replace, drop
    }

    private let contents: [[UInt8]]

    /// - Parameter large: whether one of them needs many frames and several rows of the store.
    init(seed: UInt64, large: Bool) {
        var random = SeededGenerator(seed: seed ^ 0xF11E_5000)
        contents = [0, 1, 300, 9_000, 60_000, large ? 560_000 : 20].map { count in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(count + 8)
            while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
            return Array(bytes.prefix(count))
        }
    }

    var count: Int { contents.count }

    /// The attachments of a revision whose parent had others.
    func attachments(
        _ change: Change, file: Int, kept: AttachmentList, in transaction: WriteTransaction
    ) throws -> AttachmentList {
        let name = "file-\(file)"
        switch change {
        case .keep: return kept
        case .drop: return AttachmentList()
        case .add, .replace:
            let blob = try transaction.addBlob(contents[file])
            let others = change == .add ? kept.filter { $0.name != name } : []
            return try AttachmentList(
                others + [DocumentAttachment(name: name, digest: blob.digest, length: blob.length, revpos: 1)])
        }
    }

    /// What is wrong with the attachments of these documents on a node: every leaf must have all bytes of each, and nothing
    /// else may be kept once leases have ended, unless old bodies are, which use some as well.
    func faults(of ids: [(CollectionName, DocumentID)], on database: Database, keepsOldBodies: Bool) throws -> [String]
    {
        var faults: [String] = []
        var used: Set<AttachmentDigest> = []
        try database.read { whole in
            for (collection, id) in ids where try whole.hasCollection(collection) {
                let snapshot = try whole.collection(collection)
                for leaf in try snapshot.document(id)?.leaves ?? [] {
                    for attachment in try snapshot.document(id, revision: leaf.revision)?.attachments
                        ?? AttachmentList()
                    {
                        used.insert(attachment.digest)
                        var bytes: [UInt8] = []
                        try? snapshot.readBlob(attachment.digest) { piece in
                            bytes.append(contentsOf: piece)
                            return true
                        }
                        let index = Int(attachment.name.dropFirst("file-".count)) ?? 0
                        if try snapshot.blob(attachment.digest) == nil || bytes != contents[index] {
                            faults.append("\(id) \(leaf.revision) has other bytes in \(attachment.name)")
                        }
                    }
                }
            }
        }
        try database.doHousekeeping()
        let report = try database.checkNow()
        faults.append(contentsOf: report.faults.map(\.description))
        if keepsOldBodies ? report.blobs < used.count : report.blobs != used.count {
            faults.append("\(report.blobs) blobs are kept and \(used.count) are used")
        }
        return faults
    }
}
