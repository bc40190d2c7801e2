/// The numbers of the command line, each with what it does.
enum CommandLimits {
    /// How long a silent node is waited for unless `--timeout` says otherwise.
    static let answerMilliseconds = 30_000
    /// The same for `status`, which people and monitoring wait for.
    static let statusAnswerMilliseconds = 5_000
    /// The same for `db digest`, for which the node reads every document.
    static let digestAnswerMilliseconds = 600_000
    /// How long `wait` waits unless `--timeout` says otherwise.
    static let waitMilliseconds = 60_000
    /// How often the node is asked to send a sign of life on a feed without changes.
    static let feedHeartbeatMilliseconds = 10_000
    /// A feed without even a sign of life for so long belongs to a node that hangs.
    static let feedSilenceMilliseconds = 45_000
    /// How often a screen is redrawn so that ages stay right.
    static let redrawMilliseconds = 1_000
    /// How often a node that is not there is looked for again by `wait --up` and `status --watch`.
    static let reconnectMilliseconds = 200

    /// Results are handed over in pieces of this size.
    static let outputBufferBytes = 65_536
    /// One read from the socket, a file or the standard input.
    static let readBytes = 65_536
    /// The largest answer that is kept whole in memory; a longer one is an error. Listings are read piece by piece.
    static let answerBytesMax = 256 << 20
    /// Bytes of a password that is typed or comes on the standard input.
    static let secretBytesMax = 4_096
    /// The largest answer that tells an error; the rest is not read.
    static let errorAnswerBytesMax = 1 << 20
    /// The largest head of an answer.
    static let answerHeadBytesMax = 65_536

    /// The largest document that `put` and `import` read; the node has its own limit, which is lower.
    static let documentBytesMax = 64 << 20
    /// How often `sync` tells where nobody watches how far it is.
    static let syncLineMilliseconds = 5_000
    /// `import` sends a batch when it holds so many bytes …
    static let importBatchBytes = 1 << 20
    /// … or so many documents: one commit of the store each.
    static let importBatchDocuments = 500
    /// `import` prints so many refused documents with their lines; the others are only counted.
    static let importErrorsShown = 20
    /// Documents in one page of `list` and `export`.
    static let listPageDocuments = 500
    /// Changes in one page of `changes`.
    static let changesPageCount = 1_000
    /// `conflicts` says of so many documents why they were not merged by themselves; `--json` of all.
    static let conflictProblemsShown = 5
    /// Conflicts in one page of `conflicts`.
    static let conflictsPageCount = 200

    /// How long the node may be silent while a pairing is followed; it ends one that takes longer than two minutes.
    static let pairingMilliseconds = 300_000
    /// The same for an invitation, which is good for a day at most.
    static let invitationMilliseconds = 90_000_000
    /// How often the terminal is looked at while a question is open and the node is followed too.
    static let answerLookMilliseconds = 100
    /// The longest answer that is read from the standard input.
    static let answerLineBytesMax = 4_096
}
