import KithWire

/// A list of changes or proposals that is not answered.
struct ReceivedList {
    var content: Content
    var message: BLIPMessage
    /// Documents in it: one may have an entry for each leaf.
    var count: Int
    var byteCount = 0

    enum Content {
        case changes([ChangesList.Entry])
        case proposals([ProposalsList.Entry])
    }

    init(_ content: Content, _ message: BLIPMessage) {
        self.content = content
        self.message = message
        switch content {
        case .changes(let entries):
            let others = zip(entries, entries.dropFirst()).count { $0.sequence != $1.sequence }
            count = entries.isEmpty ? 0 : 1 + others
        case .proposals(let entries): count = entries.count
        }
    }
}
