import KithDocuments
import KithStore

extension RESTDocument {
    /// Bytes that came behind a document, and are stored.
    struct Received: Sendable {
        let blob: Blob
        /// Whether they came packed and were unpacked, so that the document's word of it no longer holds.
        let isUnpacked: Bool
    }

    /// Writes the document as a new revision, with its attachments and its expiry.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - parent: the revision that it follows, where one was named.
    ///   - transaction: where it is written.
    /// - Throws: as `WriteTransaction.put`; `.attachmentMissing` for a stub whose bytes are not stored; `.badDocument`
    ///   for attachments that were to follow and did not.
    func put(_ id: DocumentID, parent: RevisionID?, in transaction: WriteTransaction) throws -> RevisionID {
        var stored = AttachmentList()
        if !attachments.isEmpty {
            let before = try parent ?? transaction.document(id)?.revision
            stored = try storedAttachments(
                id, ancestors: parent.map { [$0] } ?? [], generation: (before?.generation ?? 0) + 1, in: transaction)
        }
        let written = try transaction.put(
            id, body: body, parent: parent, isDeleted: isDeleted, attachments: stored)
        try setExpiry(id, in: transaction)
        return written.revision
    }

    /// Stores the document as the revision that it says it is (`new_edits=false`).
    ///
    /// - Throws: as `WriteTransaction.insert` and `put`; `.badDocument` without a revision.
    func insert(_ id: DocumentID, in transaction: WriteTransaction) throws -> RevisionID {
        guard let revision else { throw KithError(.badDocument, "a document that keeps its revision needs _rev") }
        var attachments = AttachmentList()
        // One that is here has its attachments, whatever is said of them now.
        if case .missing? = try transaction.lookup([(id, revision)]).first {
            attachments = try storedAttachments(
                id, ancestors: history, generation: revision.generation, in: transaction)
        }
        _ = try transaction.insert(
            IncomingRevision(
                id: id, revision: revision, history: history, isDeleted: isDeleted, body: body, attachments: attachments
            ))
        try setExpiry(id, in: transaction)
        return revision
    }

    /// Stores bytes that came within the document, and finds those that it refers to.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - ancestors: revisions in which stubs are looked up by their names, in the first whose attachments are known.
    ///   - generation: of the revision that is written: no attachment is younger.
    ///   - transaction: where it is written.
    func storedAttachments(
        _ id: DocumentID, ancestors: [RevisionID], generation: UInt64, in transaction: WriteTransaction
    ) throws -> AttachmentList {
        guard !attachments.isEmpty else { return AttachmentList() }
        var before: StoredDocument?
        // A revision that is stored is a leaf, or one of few older ones.
        for ancestor in ancestors where before == nil { before = try transaction.document(id, revision: ancestor) }
        return try AttachmentList(
            attachments.map { incoming -> DocumentAttachment in
                try stored(incoming, before, id, generation: generation, in: transaction)
            })
    }

    private func stored(
        _ incoming: IncomingAttachment, _ before: StoredDocument?, _ id: DocumentID, generation: UInt64,
        in transaction: WriteTransaction
    ) throws -> DocumentAttachment {
        var isUnpacked = false
        let attachment: DocumentAttachment
        switch incoming.content {
        case .inline(let bytes):
            let blob = try transaction.addBlob(bytes)
            // CouchDB tells the encoding that it keeps them in beside bytes that it has unpacked.
            isUnpacked = incoming.digest == nil
            attachment = try incoming.resolved(digest: blob.digest, length: blob.length, revpos: generation)
        case .stub:
            var known = before?.attachments[incoming.name]
            // One that came later than the revision that is here has other bytes.
            if let before, incoming.digest == nil, incoming.revpos ?? 0 > before.revision.generation { known = nil }
            guard let digest = incoming.digest ?? known?.digest, let blob = try transaction.blob(digest) else {
                throw KithError(
                    .attachmentMissing,
                    "Attachment \(incoming.name) of document \(id) is a stub, and its bytes are not stored",
                    remedy: "Send them as data, or name the revision that has the attachment")
            }
            isUnpacked = incoming.digest == nil && known?.encoding == nil
            attachment = try incoming.resolved(
                digest: digest, length: blob.length, revpos: known?.revpos ?? generation,
                contentType: known?.contentType)
        case .follows:
            guard let received = received[Array(incoming.name.utf8)] else {
                throw KithError(
                    .badDocument, "attachment \(incoming.name) of document \(id) was to follow and did not",
                    remedy: "Send it behind the document, in a body of type multipart/related")
            }
            isUnpacked = received.isUnpacked
            attachment = try incoming.resolved(
                digest: received.blob.digest, length: received.blob.length, revpos: generation)
        }
        return try DocumentAttachment(
            name: attachment.name, digest: attachment.digest, length: attachment.length,
            contentType: attachment.contentType, revpos: attachment.revpos.map { min($0, generation) },
            encoding: isUnpacked ? nil : attachment.encoding)
    }

    private func setExpiry(_ id: DocumentID, in transaction: WriteTransaction) throws {
        switch expiry {
        case nil: break
        case .never: try transaction.setExpiry(id, at: nil)
        case .at(let seconds): try transaction.setExpiry(id, at: Int64(clamping: seconds) * 1000)
        case .after(let seconds):
            try transaction.setExpiry(id, at: DatabaseOptions.systemClock() + Int64(clamping: seconds) * 1000)
        }
    }
}
