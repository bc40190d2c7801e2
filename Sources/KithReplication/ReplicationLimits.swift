import KithDocuments
import KithStore
import KithWire

/// The windows and limits of replication, each with its effect.
///
/// Memory of a link is bounded by the sum of these windows, whatever the backlog: the sender waits for the receiver.
public struct ReplicationLimits: Sendable {
    /// Documents read from the store and announced in one `changes` message. More makes fewer round trips, less makes
    /// the first revision arrive earlier. Couchbase Lite uses 200.
    public var changesPerListMax = 200
    /// `changes` messages sent and not yet answered, of all collections together. Keeps the peer looking up while we read on.
    public var unansweredListsMax = 4
    /// Revisions that the peer asked for and that are not read from the store yet; above it no more changes are read.
    public var queuedRevisionsMax = 1_000
    /// Revisions read from the store in one go.
    public var revisionsPerReadMax = 200
    /// Bytes of revisions read from the store in one go; a single larger revision is still read.
    public var revisionsPerReadBytesMax = 1 << 20
    /// Bytes of revisions sent and not yet answered; above it none is read or sent.
    public var unansweredRevisionBytesMax = 2 << 20
    /// Revisions sent and not yet answered.
    public var unansweredRevisionsMax = 1_000
    /// Revisions asked for and not arrived; above it the answer to a `changes` message waits, which stops the sender.
    public var awaitedRevisionsMax = 2_000
    /// `changes` messages received and not yet answered; a peer that sends more breaks the protocol. Couchbase Lite
    /// leaves 5 unanswered.
    public var receivedListsMax = 8
    /// Size of a `changes` message; more is refused.
    public var receivedListBytesMax = 4 << 20
    /// Entries in a `changes` message of a peer; more is refused.
    public var receivedChangesPerListMax = 10_000
    /// What an entry of a `changes` message takes at most: the longest document ID with every byte escaped, a revision ID, a
    /// number and what stands between.
    static let listEntryBytesMax = 6 * DocumentLimits.documentIDBytesMax + 128

    /// The bytes of documents, lists and blobs that a session holds at most in both directions, however much waits on either
    /// side; it follows from the other limits, where the peer keeps to the same. A peer that does not is cut off by the limits
    /// for that.
    ///
    /// - Parameter largestRevisionBytes: of the largest revision that is replicated, with its properties: a single one is
    ///   sent and stored whatever the windows are.
    public func bytesHeldMax(
        largestRevisionBytes: Int = DocumentLimits.documentBytesMax + WireLimits.blipPropertyBytesMax
    ) -> Int {
        // The last read begins below the window. What was received is what the other side has on its way.
        let sent = unansweredRevisionBytesMax + revisionsPerReadBytesMax + largestRevisionBytes
        let overhead = unansweredRevisionsMax + revisionsPerReadMax
        let received = sent + overhead * receivedRevisionOverheadBytes
        let lists = unansweredListsMax * changesPerListMax * Self.listEntryBytesMax
        return sent + received + 2 * lists + blobBytesHeldMax
    }
    /// Revisions stored in one call of the store.
    public var insertBatchMax = 500
    /// Bytes of revisions stored in one call of the store; a single larger revision is still stored.
    public var insertBatchBytesMax = 4 << 20
    /// What a revision that waits is counted with besides its body and its properties.
    public var receivedRevisionOverheadBytes = 512
    /// Bytes of revisions received and not yet stored; above it the link asks its shell to stop reading.
    public var receivedBytesMax = 8 << 20
    /// Bytes of revisions that wait for their blobs; a peer that sends more than its own window allows is cut off there. The
    /// link goes on reading until then, since what they wait for comes over it; but above `receivedBytesMax` no more are
    /// asked for.
    public var heldRevisionBytesMax = 64 << 20
    /// Blobs fetched from the peer at a time. More hide the round trip and the flush to the disk of small ones; each holds
    /// a window of bytes here and a mebibyte in the store.
    public var fetchesMax = 4
    /// Digests looked up in the store in one go; one document with more is still looked up.
    public var blobLookUpMax = 1_000
    /// How often a revision is looked at anew because a blob that was here is gone when it is stored, or a fetch ended early,
    /// before it is refused.
    public var blobAttemptsMax = 3
    /// Bytes read from a blob in one go while it is sent: a row of the store.
    public var blobPieceBytes = 256 << 10
    /// Blobs being sent at a time; the others wait for their turn.
    public var blobRepliesMax = 4
    /// Bytes of blobs that wait to be sent; above it no further one is begun.
    public var blobBytesQueuedMax = 512 << 10
    /// Blobs that the peer asked for and that wait for their turn; one more is refused with 503.
    public var waitingBlobRequestsMax = 4_096
    /// The bytes of blobs that a session holds at most in both directions, however large they are; it follows from the other
    /// limits and BLIP's window.
    public var blobBytesHeldMax: Int {
        blobBytesQueuedMax + blobRepliesMax * (blobPieceBytes + WireLimits.blipPulledBytesLow)
            + fetchesMax * (WireLimits.blipUnacknowledgedBytesMax + WireLimits.blipBigFrameBytes)
    }
    /// Longest history asked of the peer (`maxHistory`): as long as the store keeps a branch. With less, a node that got a
    /// document late would not know the older ancestors, and would take one that a third node still has for a branch of
    /// its own. Where the peer is told a known ancestor, only what lies behind it is sent.
    public var historyMax = 1_000
    /// Longest history taken from a peer; more is refused.
    public var receivedHistoryMax = 2_000
    /// Documents that a peer may restrict its pull to; more is refused.
    public var subscribedDocumentsMax = 10_000
    /// Collections replicated over one link, as many as a database has at most. All share the windows.
    public var collectionsMax = StoreLimits.collectionsMax
    /// Size of a checkpoint that a peer may store here. Couchbase Lite lists in it each gap of what it has pushed, and a push
    /// whose checkpoint is refused does not go on.
    public var checkpointBytesMax = 256 << 10
    /// Checkpoints that one peer may store in one collection: a client makes a new one for each filter, and never removes one.
    /// Beyond, the one that it has not written for the longest time goes, so who has more replicators in use begins anew at times.
    public var checkpointsOfPeerMax = 100
    /// Checkpoints that all peers may store in one collection; beyond, a peer with none is refused.
    public var checkpointsMax = 10_000
    /// Bytes of checkpoints in one answer to `getCollections`. What is beyond is answered as if it were not there: the client
    /// asks for it again when it saves.
    public var checkpointBytesAnsweredMax = 4 << 20
    /// Length of a checkpoint's name (`client`).
    public var checkpointNameBytesMax = 200
    /// Revisions just received whose own change is not announced back to the peer that sent them. Beyond this number
    /// they are announced, and the peer declines: only a little slower.
    public var echoesMax = 20_000
    /// How long after a change a checkpoint is saved. Shorter repeats less work after a crash.
    public var checkpointDelaySeconds = 5.0
    /// How often the number of waiting changes is counted anew while a backlog is sent; between, it is kept up.
    public var recountIntervalSeconds = 1.0
    /// A count goes through the documents that wait, or those before them: a longer one is made less often, so that counting
    /// takes a small part of the time whatever the backlog.
    public var recountedDocumentsPerSecond = 50_000.0
    /// A body of at least this many bytes is compressed. Below it, deflate costs more time than the bytes on a LAN.
    public var compressedBodyBytesMin = 1_024
    /// How often it is looked which requests the peer has not answered.
    public var answerLookSeconds = 30.0
    /// After how many looks an answer has been waited for too long. More bears a peer whose disk stands still for longer, less has the
    /// others wait for less time.
    public var unansweredLooksMax = 10
    /// How long an answer is waited for at least, from when the request has gone out.
    public var unansweredSecondsMax: Double { answerLookSeconds * Double(unansweredLooksMax) }
    /// Documents that a client never answers and that are not waited for any more; beyond, the link is ended.
    public var unansweredGivenUpMax = 100
    /// Bytes of answers and messages that wait to be sent; a peer that sends and does not read is cut off there. The
    /// windows keep an honest link far below.
    public var outgoingBytesMax = 64 << 20
    /// Refused documents that wait to be taken by the shell; more are only counted.
    public var refusalsMax = 1_000
    /// Refused documents of which it is told when they are taken after all.
    public var watchedDocumentsMax = 10_000

    /// The limits as documented.
    public init() {}
}
