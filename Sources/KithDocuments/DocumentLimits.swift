/// Every limit of this room, each with what happens beyond it.
public enum DocumentLimits {
    /// Longest document ID; a longer one is refused. Couchbase Lite has the same limit.
    public static let documentIDBytesMax = 240
    /// Longest database name; a longer one is refused. It leaves ample room for an ending in a file name of 255 bytes.
    public static let databaseNameBytesMax = 100
    /// Longest scope and longest name of a collection; a longer one is refused, as in Couchbase.
    public static let collectionNameBytesMax = 251
    /// Longest digest of a revision ID; a longer one is refused. It is what Couchbase Lite can keep (41 bytes in hex).
    public static let revisionDigestBytesMax = 82
    /// Highest generation of a revision; a higher one is refused.
    public static let revisionGenerationMax: UInt64 = 4_294_967_295
    /// Ancestors looked at in one history; older ones are ignored, as if the sender had left them out.
    public static let historyRevisionsMax = 10_000
    /// Revisions in one tree; a stored tree that claims more is taken as damaged, and an insertion beyond it is refused.
    public static let treeRevisionsMax = 1_000_000
    /// Merge marks in a row that a pruned tree keeps beside the revisions that it may keep; a merge makes one for each version
    /// but the winner. More count as revisions, so that a peer that invents some does not make a tree grow without end.
    public static let marksKeptMax = 32
    /// Pruned revisions that a tree still knows by their fingerprints, 8 bytes each; the oldest are dropped first. A peer
    /// that lags behind by more than these makes a conflict. It may be raised, never lowered: a stored tree that has more
    /// is taken as damaged.
    public static let prunedRevisionsMax = 4_000

    /// Largest JSON text of one document; a larger one is refused with `too_large`.
    public static let documentBytesMax = 20 * 1024 * 1024
    /// Deepest nesting of arrays and objects, the outermost counted as 1; a deeper text is refused. The same on every
    /// path, so that nothing accepted is later impossible to send.
    public static let nestingLevelsMax = 256
    /// Most digits of an integer, and most characters of any other number; a longer number is refused, since the cost
    /// of reading it would grow with the square of its length elsewhere.
    public static let numberCharactersMax = 1_000

    /// Longest name of an attachment; a longer one is refused. File systems stop at 255 for each part of a path.
    public static let attachmentNameBytesMax = 1_024
    /// Longest content type of an attachment; a longer one is refused. It must fit a header of HTTP.
    public static let attachmentTypeBytesMax = 255
    /// Longest name of an attachment's encoding (`gzip`); a longer one is refused.
    public static let attachmentEncodingBytesMax = 32
    /// Attachments of one document; a document with more is refused. Their metadata is read whole.
    public static let attachmentsMax = 10_000
    /// What `_attachments` may have in a document that comes in replication, beside the document itself; a longer one may be
    /// refused as too large.
    public static let attachmentStubsBytesMax = 1 << 20
    /// Bytes of all attachments of one document; a document that claims more is refused. So sums never overflow.
    public static let attachmentsBytesMax: UInt64 = 1 << 40
    /// Below this, a number in `_exp` is seconds from now and not a date: 30 days, as in Sync Gateway and Couchbase Server.
    public static let expirySecondsRelativeEnd: UInt64 = 2_592_000
    /// Latest `_exp`, in Unix seconds (the year 2106); a later one is refused, as Sync Gateway does.
    public static let expiryUnixSecondsMax: UInt64 = 4_294_967_295
}
