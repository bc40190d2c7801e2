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

    /// Whether both would make the same revision.
    func isSame(as other: MergeContent) -> Bool {
        body == other.body && attachments.hasSameContent(as: other.attachments)
    }

    /// - Returns: the merged content; whether both sides have changed the same, so that the origins counted.
    /// - Throws: as `ThreeWayMerge.merge` and `AttachmentList.merge`.
    static func merge(
        base: MergeContent?, winner: MergeContent, loser: MergeContent, origins: MergeOrigins = MergeOrigins()
    ) throws(KithError) -> (content: MergeContent, hasClash: Bool) {
        let body = try ThreeWayMerge.merge(
            base: base?.body, winner: winner.body, loser: loser.body,
            origins: ThreeWayMerge.Origins(winner: origins.winner.map(\.body), loser: origins.loser.map(\.body)))
        let attachments = try AttachmentList.merge(
            base: base?.attachments ?? AttachmentList(), winner: winner.attachments, loser: loser.attachments,
            winnerOrigins: origins.winner.map(\.attachments), loserOrigins: origins.loser.map(\.attachments))
        return (
            MergeContent(body: body.body, attachments: attachments.attachments), body.hasClash || attachments.hasClash
        )
    }
}
