import KithDocuments
import KithReplication

// What happens to single documents, for whoever wants to hear of it.

extension LinkManager {
    /// A reader, as long as somebody holds its buffer.
    struct EventReader {
        weak var buffer: EventBuffer<DocumentEvent>?
    }

    /// Adds a reader.
    func observe(_ buffer: EventBuffer<DocumentEvent>) {
        eventReaders.removeAll { $0.buffer == nil }
        eventReaders.append(EventReader(buffer: buffer))
        tellLinks()
    }

    /// Has links note each revision while somebody listens.
    private func tellLinks() {
        let isObserved = self.isObserved
        for slot in allSlots { for link in slot.links + slot.oneShots { link.tellsArrivals = isObserved } }
    }

    /// Has a new link tell what happens to documents.
    func observe(_ link: PeerLink) {
        link.tellsArrivals = isObserved
        link.onArrivals = { [weak self, key = link.key] in self?.tellArrivals($0, key) }
    }

    /// Whether somebody listens.
    var isObserved: Bool { eventReaders.contains { $0.buffer != nil } }

    /// Tells of revisions that got to their receivers.
    func tellArrivals(_ arrivals: [ReplicationArrival], _ key: LinkKey) {
        guard isObserved else { return tellLinks() }
        for arrival in arrivals {
            tell(
                DocumentEvent(
                    database: key.database, collection: arrival.collection, peer: key.peer, id: arrival.name.id.text,
                    revision: arrival.name.revision.description, isOutgoing: arrival.isOutgoing, outcome: .travelled,
                    error: nil))
        }
    }

    /// Tells of what one side would not take.
    func tellRefusals(_ refusals: [ReplicationRefusal], _ key: LinkKey) {
        guard isObserved else { return }
        for refusal in refusals {
            let code = ErrorCode.refusal(httpStatus: refusal.code)
            tell(
                DocumentEvent(
                    database: key.database, collection: refusal.collection, peer: key.peer, id: refusal.id,
                    revision: refusal.revision, isOutgoing: refusal.isOutgoing, outcome: .refused,
                    error: KithError(
                        code, refusal.side == .peer ? "refused by the peer: \(refusal.reason)" : refusal.reason)))
        }
    }

    private func tell(_ event: DocumentEvent) {
        for reader in eventReaders { reader.buffer?.add(event) }
    }

    /// Nothing more comes.
    func closeEvents() {
        for reader in eventReaders { reader.buffer?.close() }
        eventReaders = []
    }
}

extension ErrorCode {
    /// What a status of HTTP says of one document.
    fileprivate static func refusal(httpStatus: Int) -> ErrorCode {
        switch httpStatus {
        case 403: .forbidden
        case 404: .notFound
        case 409: .conflict
        case 412: .attachmentMissing
        case 413: .tooLarge
        case 500...: .inputOutput
        default: .badDocument
        }
    }
}
