import KithDocuments
import KithStore

/// How much of a database a peer is known to have, remembered for status while it is away.
public struct PeerProgress: Sendable, Equatable {
    /// Every change up to this sequence is durable at the peer.
    public var sentThrough: UInt64
    /// Sequences behind that of which the peer has everything too, since it came from there.
    public var received = SequenceRanges()
    /// When both sides were last known to have the same, in seconds since 1970; `nil` when unknown.
    public var lastInSyncWallSeconds: Int64?
    /// The filter through which the changes went (`ReplicationConfiguration.filterTag`). Of what another lets pass it says nothing.
    public var filterTag: String?

    /// Makes a progress.
    public init(sentThrough: UInt64, lastInSyncWallSeconds: Int64?, filterTag: String? = nil) {
        self.sentThrough = sentThrough
        self.lastInSyncWallSeconds = lastInSyncWallSeconds
        self.filterTag = filterTag
    }

    /// Reads the text of the local document; `nil` when it is not one.
    public init?(parsing body: [UInt8]) {
        guard let value = try? JSONValue(parsing: body), let sent = value["sentThrough"]?.int64Value else { return nil }
        self.init(
            sentThrough: UInt64(clamping: sent), lastInSyncWallSeconds: value["lastInSync"]?.int64Value,
            filterTag: value["filter"]?.stringValue)
        received = SequenceRanges(value["received"])
    }

    /// Documents that are changed here and that the peer is not known to have; the cost grows with the number of changes.
    ///
    /// - Parameter sequence: only those before it are counted.
    public func pendingCount(_ snapshot: Snapshot, before sequence: UInt64 = .max) throws -> Int {
        guard sequence > sentThrough + 1 else { return 0 }
        var count = try snapshot.pendingCount(since: sentThrough)
        if sequence < .max { count -= try snapshot.pendingCount(since: sequence - 1) }
        for range in received.ranges where range.upperBound > sentThrough && range.lowerBound < sequence {
            count -= try snapshot.changedCount(
                in: max(range.lowerBound, sentThrough + 1)...min(range.upperBound, sequence - 1))
        }
        return max(0, count)
    }

    /// Whether the peer has everything of a change.
    public func includes(_ sequence: UInt64) -> Bool { sequence <= sentThrough || received.contains(sequence) }

    /// The local document that keeps it.
    public func document(name: String) -> LocalDocument {
        let time = lastInSyncWallSeconds.map { ",\"lastInSync\":\($0)" } ?? ""
        let filter = filterTag.map { ",\"filter\":" + JSONValue.string($0).canonicalText() } ?? ""
        let ranges = received.ranges.isEmpty ? "" : ",\"received\":" + received.json.canonicalText()
        return LocalDocument(name: name, body: Array("{\"sentThrough\":\(sentThrough)\(time)\(filter)\(ranges)}".utf8))
    }
}
