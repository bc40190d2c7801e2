import KithDocuments
import KithStore

/// Fetches documents with attachments, one after the other, since each may be as large as a disk.
final class CouchDBAttachmentReceiver {
    unowned let puller: CouchDBPuller
    private var queue: [WantedRevision] = []
    private var current: CouchDBAttachmentFetch?
    /// How often the answer about a document was cut off, in this session.
    private var cuts: [RevisionName: Int] = [:]

    init(puller: CouchDBPuller) { self.puller = puller }

    var isIdle: Bool { queue.isEmpty && current == nil }

    func fetch(_ wanted: WantedRevision) {
        queue.append(wanted)
        begin()
    }

    private func begin() {
        guard current == nil, !queue.isEmpty else { return }
        let fetch = CouchDBAttachmentFetch(queue.removeFirst(), receiver: self)
        current = fetch
        fetch.begin()
    }

    /// All that came of it is stored, and what is refused is noted.
    func done(_ wanted: WantedRevision) {
        cuts[wanted.name] = nil
        current = nil
        puller.close([wanted])
        begin()
    }

    /// The answer was cut off in its middle.
    ///
    /// - Returns: whether it is asked for once more; a document with which that always happens stops no other.
    func cutOff(_ wanted: WantedRevision) -> Bool {
        let count = (cuts[wanted.name] ?? 0) + 1
        guard count < puller.limits.attemptsMax else { return false }
        cuts[wanted.name] = count
        current = nil
        queue.insert(wanted, at: 0)
        begin()
        return true
    }
}
