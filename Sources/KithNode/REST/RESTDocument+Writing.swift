import KithDocuments
import KithStore

extension RESTDocument {
    /// Writes the document as a new revision, with its attachments and its expiry.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - parent: the revision that it follows, where one was named.
    /// - Throws: as `WriteTransaction.put`; `.attachmentMissing` for a stub whose bytes are not stored; `.notImplemented`
    ///   for attachments that were to follow as parts of their own.
    func put(_ id: DocumentID, parent: RevisionID?, in transaction: WriteTransaction) throws -> RevisionID {
        let before = try parent ?? transaction.document(id)?.revision
        let attachments = try storedAttachments(
            id, parent: parent, generation: (before?.generation ?? 0) + 1, in: transaction)
        let written = try transaction.put(
            id, body: body, parent: parent, isDeleted: isDeleted, attachments: attachments)
        try setExpiry(id, in: transaction)
        return written.revision
    }

    /// Stores the document as the revision that it says it is (`new_edits=false`).
    ///
    /// - Throws: as `WriteTransaction.insert` and `put`; `.badDocument` without a revision.
    func insert(_ id: DocumentID, in transaction: WriteTransaction) throws -> RevisionID {
        guard let revision else { throw KithError(.badDocument, "a document that keeps its revision needs _rev") }
        let attachments = try storedAttachments(
            id, parent: history.first, generation: revision.generation, in: transaction)
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
    ///   - parent: the revision in which stubs are looked up by their names.
    ///   - generation: of the revision that is written: no attachment is younger.
    ///   - transaction: where it is written.
    func storedAttachments(
        _ id: DocumentID, parent: RevisionID?, generation: UInt64, in transaction: WriteTransaction
    ) throws -> AttachmentList {
        guard !attachments.isEmpty else { return AttachmentList() }
        let before = try parent.flatMap { try transaction.document(id, revision: $0) }?.attachments ?? AttachmentList()
        return try AttachmentList(
            attachments.map { incoming -> DocumentAttachment in
                let attachment: DocumentAttachment
                switch incoming.content {
                case .inline(let bytes):
                    let blob = try transaction.addBlob(bytes)
                    attachment = try incoming.resolved(digest: blob.digest, length: blob.length, revpos: generation)
                case .stub:
                    let known = before[incoming.name]
                    guard let digest = incoming.digest ?? known?.digest, let blob = try transaction.blob(digest) else {
                        throw KithError(
                            .attachmentMissing,
                            "Attachment \(incoming.name) of document \(id) is a stub, and its bytes are not stored",
                            remedy: "Send them as data, or name the revision that has the attachment")
                    }
                    attachment = try incoming.resolved(
                        digest: digest, length: blob.length, revpos: known?.revpos ?? generation,
                        contentType: known?.contentType)
                case .follows:
                    throw KithError(
                        .notImplemented, "attachments that follow the document are not taken yet",
                        remedy: "Send them within it, as data in base64")
                }
                guard let told = attachment.revpos, told > generation else { return attachment }
                return try DocumentAttachment(
                    name: attachment.name, digest: attachment.digest, length: attachment.length,
                    contentType: attachment.contentType, revpos: generation, encoding: attachment.encoding)
            })
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
