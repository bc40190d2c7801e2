import KithStore
import KithWire

// What a client that pushes is answered, and what is said in answer to any list.

extension Puller {
    /// What is wanted is not awaited: a client that changes its mind does not always say so.
    func answer(_ entries: [ProposalsList.Entry], _ judgements: [ProposalAnswer], to message: BLIPMessage) {
        let namesWinner = message.properties.bool("conflictIncludesRev")
        var body: [UInt8] = []
        var judgements = judgements[...]
        for entry in entries {
            if entry.proposal != nil, let judgement = judgements.popFirst() {
                ProposalsList.append(judgement, namesWinner: namesWinner, to: &body)
            } else {
                refuse(entry.rawID, entry.rawRevision, to: &body)
            }
        }
        reply(body, to: message)
    }

    /// An entry with an ID that is not legal.
    func refuse(_ id: String, _ revision: String, to body: inout [UInt8]) {
        replicator.refused(
            id: id, revision: revision, by: .here, isOutgoing: false, code: 400,
            reason: "the document ID or the revision ID is not legal")
        ChangesList.append(.refused(400), to: &body)
    }

    func reply(_ answers: [UInt8], to message: BLIPMessage) {
        var body = answers
        ChangesList.finish(&body)
        session.reply(
            to: message,
            BLIPOutgoing(
                // Without `blobs`, so that a sender whose attachments stand inside the document names them in
                // `_attachments` as well, which is where they are looked for; and without `deltas`, so that none come.
                properties: ["maxHistory": String(limits.historyMax)], body: body, isUrgent: true, isNoReply: false,
                isCompressed: body.count >= limits.compressedBodyBytesMin))
    }
}
