import KithDocuments

/// The database of a simulated client, which outlives its connections: no tree, only the current revision of each document,
/// with a conflict resolved as soon as it comes.
final class ClientDatabase {
    /// How many revisions of a branch Couchbase Lite keeps, and how many it asks for.
    static let revisionsMax = 50

    var documents: [DocumentID: ClientDocument] = [:]
    /// Attachments' bytes.
    var blobs: [AttachmentDigest: [UInt8]] = [:]
    /// The copy here of the checkpoint.
    var checkpoint: JSONValue?
    private(set) var sequence: UInt64 = 0
    /// Every revision that was ever here.
    private var seen: [DocumentID: Set<RevisionID>] = [:]

    func knows(_ id: DocumentID, _ revision: RevisionID) -> Bool {
        seen[id]?.contains(revision) == true || documents[id]?.has(revision) == true
    }

    /// Documents with something to push, in the order of their changes.
    func pending(_ isChosen: (DocumentID) -> Bool) -> [DocumentID] {
        documents.filter { $1.isPending && isChosen($0) }.sorted { $0.value.sequence < $1.value.sequence }.map(\.key)
    }

    /// Writes a new revision as a child of the current one.
    @discardableResult
    func save(
        _ id: DocumentID, _ body: [UInt8], attachments: AttachmentList, isDeleted: Bool, digest: String
    ) throws -> RevisionID {
        var document = documents[id] ?? ClientDocument()
        let revision = try RevisionID(generation: (document.revision?.generation ?? 0) + 1, digest: digest)
        if let parent = document.revision { document.history.insert(parent, at: 0) }
        document.revision = revision
        (document.body, document.attachments, document.isDeleted) = (body, attachments, isDeleted)
        store(document, id)
        return revision
    }

    /// Keeps a document as it is now.
    func store(_ changed: ClientDocument, _ id: DocumentID) {
        sequence += 1
        var document = changed
        document.sequence = sequence
        document.history = Array(document.history.prefix(Self.revisionsMax - 1))
        documents[id] = document
        if let revision = document.revision { seen[id, default: []].insert(revision) }
    }

    /// The node is not what it was: what it was known to have counts no more.
    func forgetRemote() {
        for id in documents.keys { documents[id]?.remote = nil }
    }
}
