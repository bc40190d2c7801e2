import KithDocuments

/// What a three-way merge reads and makes: a body with its attachments.
struct MergeContent: Sendable, Equatable {
    /// A canonical JSON object.
    let body: [UInt8]
    let attachments: AttachmentList

    init(body: [UInt8], attachments: AttachmentList) {
        self.body = body
        self.attachments = attachments
    }

    init(_ document: StoredDocument) {
        self.init(body: document.body, attachments: document.attachments)
    }

    /// - Throws: as `ThreeWayMerge.merge` and `AttachmentList.merge`.
    static func merge(
        base: MergeContent?, winner: MergeContent, loser: MergeContent
    ) throws(KithError) -> MergeContent {
        MergeContent(
            body: try ThreeWayMerge.merge(base: base?.body, winner: winner.body, loser: loser.body),
            attachments: try AttachmentList.merge(
                base: base?.attachments ?? AttachmentList(), winner: winner.attachments, loser: loser.attachments))
    }
}
