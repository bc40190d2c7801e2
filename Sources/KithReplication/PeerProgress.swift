import KithDocuments

/// How much of a database a peer is known to have, remembered for status while it is away.
public struct PeerProgress: Sendable, Equatable {
    /// Every change up to this sequence is durable at the peer.
    public var sentThrough: UInt64
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
    }

    /// The local document that keeps it.
    public func document(name: String) -> LocalDocument {
        let time = lastInSyncWallSeconds.map { ",\"lastInSync\":\($0)" } ?? ""
        let filter = filterTag.map { ",\"filter\":" + JSONValue.string($0).canonicalText() } ?? ""
        return LocalDocument(name: name, body: Array("{\"sentThrough\":\(sentThrough)\(time)\(filter)}".utf8))
    }
}
