import KithDocuments
import KithWire

/// What a peer asked for with `subChanges`, or what an active session pushes.
struct Subscription {
    /// Everything up to this sequence is at the peer already.
    var since: UInt64 = 0
    /// Documents announced in one message.
    var batchMax: Int
    /// Whether changes made later are announced as well.
    var isContinuous = true
    /// Up to this sequence deletions are passed over (`activeOnly`): the peer begins with nothing that could be deleted.
    var skipsDeletionsThrough: UInt64 = 0
    /// The only documents that are announced; `nil`: all.
    var documentIDs: Set<DocumentID>?
    /// Whether the peer takes the current revision in place of one that is gone (`sendReplacementRevs`).
    var replacesGone = false

    /// What an active session pushes.
    init(since: UInt64, _ configuration: ReplicationConfiguration) {
        self.since = since
        batchMax = configuration.limits.changesPerListMax
        isContinuous = configuration.isContinuous
        documentIDs = configuration.documentIDs
    }

    /// Reads a `subChanges` message.
    ///
    /// - Parameter lastSequence: the last sequence of what is subscribed to.
    /// - Throws: `KithError` saying what cannot be served.
    init(
        _ message: BLIPMessage, lastSequence: UInt64, filterTag: String?, limits: ReplicationLimits
    ) throws(KithError) {
        let properties = message.properties
        // A position that is none of ours, or lies beyond the end, counts as the beginning.
        let since = properties["since"].flatMap { SentPosition.sequence($0, tag: filterTag) } ?? 0
        self.since = since <= lastSequence ? since : 0
        let batch = properties.int("batch") ?? 0
        batchMax = batch > 0 ? min(batch, limits.changesPerListMax) : limits.changesPerListMax
        isContinuous = properties.bool("continuous")
        if properties.bool("activeOnly") { skipsDeletionsThrough = lastSequence }
        replacesGone = properties.bool("sendReplacementRevs")
        documentIDs = try Self.documentIDs(message.body, limits: limits)
    }

    private static func documentIDs(
        _ body: [UInt8], limits: ReplicationLimits
    ) throws(KithError) -> Set<DocumentID>? {
        guard !body.isEmpty else { return nil }
        guard let value = try? JSONValue(parsing: body), value.objectValue != nil else {
            throw KithError(.badRequest, "the body of subChanges is not a JSON object")
        }
        guard let list = value["docIDs"], list != .null else { return nil }
        guard let items = list.arrayValue else { throw KithError(.badRequest, "docIDs is not an array") }
        guard items.count <= limits.subscribedDocumentsMax else {
            throw KithError(.tooLarge, "docIDs has more than \(limits.subscribedDocumentsMax) documents")
        }
        var ids: Set<DocumentID> = []
        for item in items {
            guard let text = item.stringValue else { throw KithError(.badRequest, "docIDs has what is no text") }
            // What cannot be the ID of a document here is that of none.
            if let id = try? DocumentID(text) { ids.insert(id) }
        }
        return ids
    }
}
