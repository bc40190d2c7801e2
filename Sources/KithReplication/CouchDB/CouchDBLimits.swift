/// The limits of replication with a CouchDB server, each with what follows from it.
public struct CouchDBLimits: Sendable {
    /// Documents in one answer of `_changes`; more cost fewer requests, and memory.
    public var changesPerRequestMax = 500
    /// Revisions that wait to be fetched; while there are more, no further changes are asked for.
    public var queuedRevisionsMax = 2_000
    /// Revisions asked for in one `_bulk_get`.
    public var revisionsPerFetchMax = 50
    /// Requests for documents that are under way at the same time.
    public var fetchesMax = 3
    /// Bytes of an answer with documents, or a list of changes; a longer one is cut off and asked for in smaller parts.
    public var answerBytesMax = 32 << 20
    /// Bytes of an answer with a single document.
    public var documentAnswerBytesMax = 64 << 20
    /// Bytes of an answer that is only about how things stand.
    public var stateAnswerBytesMax = 1 << 20
    /// Changes of this database that are compared with the server in one `_revs_diff`.
    public var changesPerComparisonMax = 300
    /// Documents in one `_bulk_docs`.
    public var documentsPerRequestMax = 200
    /// Bytes of documents after which no further one goes into the same `_bulk_docs`.
    public var documentBytesPerRequestMax = 1 << 20
    /// The length of the histories that are sent.
    public var historyMax = 1_000
    /// How often a checkpoint is saved while documents travel: what a crash costs.
    public var checkpointSeconds = 5.0
    /// A server that sends nothing for so long, also no sign of life, is given up.
    public var silenceSecondsMax = 60.0
    /// The same where the server may have to go through everything before it finds a change that passes the filter.
    public var filteredSilenceSecondsMax = 600.0
    /// A collected answer that is not whole after so long is given up, however often a byte of it comes. Its bytes have their time beside.
    public var wholeSecondsMax = 600.0
    /// What a line carries at least, in bytes a second, by which a long request gets more time.
    public var sentBytesPerSecondMin = 16_384.0
    /// How often the server is asked for a sign of life while it waits for changes.
    public var heartbeatMilliseconds = 10_000
    /// How long a server is left alone that answered that nothing has changed, without having waited for it.
    public var emptyAnswerRestSeconds = 1.0
    /// Sessions that are remembered in a checkpoint.
    public var historySessionsMax = 50
    /// How often requests about one document may fail, before the document is refused.
    public var attemptsMax = 3
    /// Refusals that one session notes. Where there are more its checkpoints stay behind the first that was not, so that the next session
    /// meets them again: the store keeps the last `StoreLimits.refusalsMax` of all peers, and what is noted nowhere would be lost.
    public var refusalsNotedMax = 1_000
    /// Bytes of an attachment that are read from the store in one go.
    public var attachmentPieceBytes = 128 << 10

    /// The defaults.
    public init() {}
}
