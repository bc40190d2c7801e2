/// Every number that tunes or bounds the store, with its effect.
public enum StoreLimits {
    /// Bodies that one transaction of the writer takes at most: more make better use of one flush to the disk, and
    /// make the first of them wait longer for its answer.
    public static let bodiesPerCommitMax = 512
    /// Documents after which the writer takes no further body into a transaction: bounds how far the write-ahead log
    /// grows at once, and how long the first body waits.
    public static let documentsPerCommitMax = 4096
    /// Reader threads, and idle connections kept for reading, when the options do not say: enough to read while another
    /// reader is slow, few enough that each keeps a warm page cache.
    public static let readersDefault = 2
    /// Revisions that the answer to a lookup names at most as possible ancestors: what a peer is sent to cut histories
    /// short (replication protocol §5.2).
    public static let ancestorsMax = 10
    /// Revisions of a document's history that are kept on each branch, the leaf included; older ones are forgotten with
    /// the next change (`revs_limit` in CouchDB's words), unless the database has a limit of its own. Each costs about 22
    /// bytes in every write of the document.
    public static let revisionsLimitDefault = 1000
    /// Most that `DatabaseSettings.revisionsLimit` may be.
    public static let revisionsLimitMax = 100_000
    /// Versions of a document in conflict that are resolved together at most; the others follow one step later. Bounds what
    /// one resolution holds and how long it takes.
    public static let mergedVersionsMax = 16
    /// Bytes of bodies, of versions and of what they parted from, beyond which no further version is resolved together with
    /// the others; and where versions parted from several revisions, bytes of these beyond which the newest counts alone.
    public static let mergedBytesMax = 67_108_864
    /// Where versions have merged before, and parted from several revisions: how many of these, and of what else they come
    /// from, are read for one conflict at most …
    static let mergeBasesMax = 32
    /// … and how often it is asked in turn from where those had parted. Beyond it the newest counts alone, and a field that
    /// was changed again after it was merged may have the value from before.
    static let mergeBaseLevelsMax = 4
    /// Refused documents of which it is kept why, over all peers; the oldest are forgotten first.
    public static let refusalsMax = 10_000
    /// Documents in conflict that wait to be resolved at most; the others are looked for when there is room again.
    static let conflictsWaitingMax = 1_024
    /// Documents of which it is remembered how often they came back into conflict.
    static let conflictsRememberedMax = 8_192
    /// Conflicts of which it is noted why they could not be resolved.
    public static let conflictFailuresMax = 100
    /// How often a document that comes back into conflict is resolved without a wait: more than nodes that merge alike ever
    /// need.
    static let conflictRoundsAtOnce = 8
    /// The first wait after that; it doubles each time …
    static let conflictDelayMillisecondsMin: Int64 = 1_000
    /// … up to this one: bounds how fast two nodes can go on that never agree.
    static let conflictDelayMillisecondsMax: Int64 = 32_000
    /// After so long without a conflict a document begins anew.
    static let conflictQuietMilliseconds: Int64 = 120_000
    /// When a resolution that failed is tried again, if the document does not change; the wait doubles each time …
    static let conflictRetryMillisecondsMin: Int64 = 10_000
    /// … up to this one.
    static let conflictRetryMillisecondsMax: Int64 = 3_600_000
    /// How long a node that has only some of the bodies from which versions parted leaves these to one that has all: at most
    /// half of the first wait above, so that it is over when the document comes up again.
    static let conflictPatienceMilliseconds: Int64 = 5_000
    /// Documents that are merged in one transaction at most, so that other writes do not wait long.
    static let mergesPerCommitMax = 16
    /// Bytes of bodies after which no further document is merged in the same transaction, for the same reason.
    static let mergeBytesPerCommitMax = 8_388_608
    /// Conflicts about which an app's resolver is asked at the same time; each holds the versions of its document.
    public static let resolversRunningMax = 16
    /// Changes that are read at a time: more cost memory, fewer cost a step down the tree of the table each time.
    static let changesPerPageMax = 512
    /// Bytes of bodies after which a page of changes ends early.
    static let changesPageBytesMax = 1_048_576
    /// Writes that wait in a database's queue; one more fails at once with `.busy`. Far more than a commit takes, so that a
    /// short standstill of the disk refuses nobody, and few enough that a long one does not fill the memory.
    public static let queuedWritesMax = 16_384
    /// How long the watcher of other processes' commits rests after it has told of some: bounds how often the rings of
    /// this process itself wake it, and delays the news of a second commit by as much.
    static let bellPauseMilliseconds: Int32 = 2
    /// How often it is looked for commits of other processes where the system has no watch to give.
    static let bellPollMilliseconds: Int32 = 1_000
    /// Collections in one database; one more is refused. Each has five tables and indexes of its own.
    public static let collectionsMax = 1_000
    /// Collections for which a connection keeps prepared statements from one transaction to the next, each about 50 KiB.
    static let preparedCollectionsMax = 32
    /// Page cache of the writer's connection: holds the inner pages of the indexes of a database of about a gigabyte.
    static let writerCacheKibibytes = 16_384
    /// Page cache of each reader's connection: holds the index by ID of a hundred thousand documents while their bodies
    /// pass through, so that a read by ID reads one page of the file instead of two.
    static let readerCacheKibibytes = 8_192
    /// Pages in the write-ahead log after which they are moved to the main file, beside the writing: larger means fewer
    /// flushes while much is written, and a larger log.
    static let logMovedAfterPages = 4_096
    /// Pages that have come to the log since its pages were last begun to be moved, before that is done again: each time
    /// costs two flushes.
    static let logMovedAgainAfterPages = 1_024
    /// Pages in the log above which the writer waits until all are in the main file, so that the log begins anew: bounds the
    /// log while somebody writes without pause. A long-lived read hinders that and lets it grow.
    static let logPagesMax = 16_384
    /// What the write-ahead log is cut back to after it was emptied, so that one large transaction or one slow reader
    /// does not leave a large file behind for ever.
    static let idleLogBytesMax = 16_777_216
    /// Bytes of the log that are written again at a time after a flush that failed: SQLite's file system takes less than
    /// 128 KiB at once.
    static let logRepairStepBytes = 65_536
    /// How long a connection waits for a lock that another process holds before the operation fails.
    static let lockWaitMillisecondsMax = 10_000
    /// How long it sleeps between attempts: short, since a process that writes without pause leaves the lock free for a
    /// fraction of a millisecond only.
    static let lockRetryMicroseconds: UInt32 = 1_000
    /// How long the writer waits at most before it looks at the clock again, when documents are to expire.
    static let clockLookMillisecondsMax: Int64 = 60_000
    /// How long housekeeping that is due waits at most while bodies wait.
    static let housekeepingDelayMillisecondsMax: Int64 = 1_000
    /// When housekeeping that failed, for want of space most likely, is tried again.
    static let housekeepingRetryMilliseconds: Int64 = 60_000
    /// Documents that one transaction lets expire at most, so that other writes do not wait long.
    static let expiriesPerCommitMax = 1_000
    /// Bytes of a blob that lie in one row: what is read, verified and held at once.
    static let blobPieceBytes = 262_144
    /// Pieces of a blob that one transaction stores at most while the blob is streamed in: a writer of blobs holds twice as
    /// many, one half being stored while the other fills.
    static let blobPiecesPerCommitMax = 4
    /// Pieces that one transaction removes at most, so that other writes do not wait long.
    static let blobPiecesRemovedPerCommitMax = 32
    /// How long a blob stays that nothing refers to, from the last byte written on: the time to write the document, or to
    /// go on with an interrupted transfer.
    static let blobLeaseMilliseconds: Int64 = 3_600_000
    /// The same for the beginning of a blob of which it is known what it is to become: the machine that sends it may have been
    /// switched off for the night.
    static let blobBeginningLeaseMilliseconds: Int64 = 86_400_000
    /// How long nobody has added to the beginning of a blob before it may be given up by a process that did not receive it:
    /// another one may be at it.
    static let blobBeginningQuietMilliseconds: Int64 = 300_000
    /// Bytes of such beginnings that are kept at most, the newest first, beside that one, which is kept in any case …
    static let blobBeginningsBytesMax = 4_294_967_296
    /// … and how many of them.
    static let blobBeginningsMax = 64
    /// Bytes of such a beginning that are read and hashed at a time when it is taken up again, so that other reads have
    /// their turn.
    static let blobResumeStepBytes = 4_194_304

    // Check, compaction, backup

    /// Faults that a check lists; further ones are only counted.
    public static let checkFaultsListedMax = 1_000
    /// Rows after which a check tells how far it is, and looks whether it shall end.
    static let checkRowsPerStep = 256
    /// Documents that one step of a compaction looks at: bounds how long other writes wait.
    static let compactionStepRows = 1_000
    /// Bytes that one step of a compaction looks at, drops or moves, about: those that change are written to the log and then
    /// to the file.
    static let compactionStepBytes = 4_194_304
    /// Bodies of superseded revisions, the newest, that a compaction leaves to each document of a database that merges: a
    /// peer that was away while its document changed more often than that leaves a conflict for a person …
    public static let compactionKeptBodiesMax = 20
    /// … and how many bytes these have at most, together with attachments that the current revision does not have. But the
    /// newest body stays however large it is, if such attachments of it are within the bound.
    public static let compactionKeptBytesMax = 1_048_576
    /// How often a compaction tries to empty the log at its end, while readers of an older state are in the way …
    static let checkpointAttemptsMax = 50
    /// … and how long it waits in between. Afterwards the log stays as it is until a later commit.
    static let checkpointRetryMicroseconds: UInt32 = 20_000
    /// Pages that a backup copies before it tells how far it is and looks whether it shall end.
    static let backupStepPages: Int32 = 256
    /// Bytes that a restore copies before it does so.
    static let restoreStepBytes = 1_048_576
    /// How far a restore raises the last sequences: above everything that the database can have given between the backup
    /// and its loss, at a thousand changes in a second for 49 days. Sequences have 63 bits, and JavaScript's 53 take two
    /// million restores.
    public static let sequencesSkippedByRestore: UInt64 = 1 << 32
}
