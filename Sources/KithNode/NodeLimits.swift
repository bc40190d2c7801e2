import KithDocuments

/// The limits and times of a node, each with its effect. Those of links are in `LinkLimits`.
public enum NodeLimits {
    /// The TCP port of replication, unless the home's configuration names another.
    public static let portDefault: UInt16 = 4984
    /// A connection that has not become a link by then is closed, and one of REST whose owner has not proved who he is.
    public static let upgradeSecondsMax = 10.0
    /// Bytes that wait for a link's socket; above it no more frames are made.
    public static let linkBufferBytesMax = 256 * 1024
    /// An address that does not take a connection by then is passed over for the next.
    public static let connectSecondsMax = 4.0
    /// An attempt that has tried addresses for this long ends; the next one begins with those that discovery saw last.
    public static let dialSecondsMax = 30.0
    /// A database for which a connected peer has opened no link by then is one that it does not have.
    public static let sharingSecondsMax: Int64 = 5
    /// Addresses kept for one peer; the oldest is forgotten first.
    public static let addressesPerPeerMax = 32
    /// Addresses of peers that people may give: one at which nobody has answered is tried for every peer.
    static let addressesGivenMax = 64
    /// Nodes kept in the list of those nearby.
    public static let nearbyMax = 256
    /// Links that one client which is no Kith node may have to one database: an app has one for each of its replicators.
    public static let clientLinksMax = 16
    /// Replications that end by themselves (`kith sync`), for one peer and database and each end: one more is refused.
    public static let oneShotLinksMax = 8
    /// Events of documents kept for each reader that is behind; the oldest are dropped and counted.
    public static let documentEventsMax = 1_000
    /// Size of a request body on the administration socket that is held in memory.
    public static let requestBodyBytesMax = 128 << 20
    /// Size of a body that is taken as it comes: an attachment, or a document with attachments behind it.
    public static let streamedBodyBytesMax = Int(DocumentLimits.attachmentsBytesMax) + 128 << 20
    /// Body of a request by somebody who has not said who he is: a login.
    static let strangerBodyBytesMax = 16 * 1024
    /// Logins that wait for the verification of others …
    static let loginsWaitingMax = 32
    /// … and of these from one address, those that are verified now included: nobody takes all places.
    static let loginsPerAddressMax = 8
    /// Connections of REST on the port of replication that one address without a trusted certificate, or one peer, may have …
    static let networkConnectionsPerCallerMax = 32
    /// … and all of a network of IPv6 that have proved nothing, of which one machine may have every address, …
    static let networkConnectionsMax = 128
    /// … and all that have proved nothing together, at each port: of its connections the others are for users and peers.
    static let strangerConnectionsMax = 256
    /// Connections of REST that one user may have at each port.
    static let connectionsPerUserMax = 64
    /// A connection of somebody who is known, on which nothing comes for so long where something is to come, is closed.
    static let restIdleSecondsMax = 60.0
    /// What comes of a body, and what is taken of an answer, in a second on the average of some time; slower clients are cut.
    static let clientBytesPerSecondMin = 4_096.0
    /// Size of a request body with documents that is held in memory for somebody who is not the owner, …
    static let networkBodyBytesMax = 64 << 20
    /// … of one that only asks, …
    static let questionBodyBytesMax = 4 << 20
    /// … of all that are held for a user or a peer, …
    static let callerBodiesBytesMax = 64 << 20
    /// … or for a guest's address, …
    static let guestBodiesBytesMax = 16 << 20
    /// … and for all of them at one port together; one more is refused. …
    static let bodiesBytesMax = 256 << 20
    /// … A body up to this length is not counted.
    static let uncountedBodyBytesMax = 64 * 1024
    /// Bytes of `_security`, which is read before each request.
    static let securityBytesMax = 512 << 10
    /// Origins whose pages may ask.
    static let originsMax = 100
    /// Bytes of an origin.
    static let originBytesMax = 300
    /// How long a browser remembers that a page may ask.
    static let preflightSeconds = 600
    /// Bytes of such a body that are still read, and dropped, after the request was refused; then the connection ends.
    static let discardedBodyBytesMax = 16 << 20
    /// Bytes of an attachment that are read and sent at a time.
    static let attachmentPieceBytes = 256 * 1024
    /// After how long a document of `_replicator` that could not begin is tried again.
    static let replicatorRetrySeconds = 60.0
    /// How soon a replication with a CouchDB server that begins another session offers again what was refused.
    static let offerAgainNanoseconds: UInt64 = 600_000_000_000
    /// Revisions of which a replication with a CouchDB server remembers that sessions failed with them.
    static let suspectsMax = 10_000
    /// Fields of an index …
    static let indexFieldsMax = 100
    /// … and indexes that are listed.
    static let indexesListedMax = 1_000
    /// … and bytes of their definitions.
    static let indexesListedBytesMax = 4 << 20
    /// JSON of a request that is read on the event loop; what is longer is read beside it.
    static let parsedOnLoopBytesMax = 16 * 1024
    /// Rows of one page when a list is streamed …
    public static let pageRows = 200
    /// … documents that are looked at for one page where a filter leaves some out …
    static let filteredRows = 2_000
    /// … and bytes of documents after which a page ends sooner.
    static let pageBytesMax = 1 << 20
    /// A page also ends after this time with what it has, so that no reader of the database is held for long.
    static let pageNanosecondsMax: UInt64 = 250_000_000
    /// The longest time that a client may say for the heartbeat or the end of a feed of changes, in milliseconds …
    static let feedMillisecondsMax = 3_600_000
    /// … and what holds when it says none.
    static let feedMillisecondsDefault = 60_000
    /// IDs that `_uuids` makes at once.
    static let uuidsMax = 1_000
    /// Documents that a query with `sort` holds to put them in order; one with more results is refused.
    static let sortedDocumentsMax = 10_000
    /// Bytes of these documents.
    static let sortedBytesMax = 64 << 20
    /// Results of a query that does not say how many it wants, as in CouchDB.
    static let findLimitDefault = 25
    /// Parts of a selector, with the names in its paths and the values in its lists; and names in the paths of fields.
    static let selectorPartsMax = 10_000
    /// Fields of an order.
    static let sortFieldsMax = 32
    /// What is said beyond this of results to skip or to give is taken for it: sums of two of them fit.
    static let findCountMax = 1 << 53
    /// Documents that a feed of changes may name.
    static let changesDocumentsMax = 10_000
    /// Shortest time between two reports of a continuous status feed.
    public static let statusIntervalSeconds = 0.1
    /// How long a check, compaction or backup is silent at most towards a client that follows it; it need not be alive
    /// otherwise.
    static let maintenanceSilenceSeconds = 5.0
    /// How long a stopping node waits for what is under way.
    public static let stopSecondsMax = 4.0
    /// The same log line is written once in this time; the repeats are counted and told together.
    public static let logRepeatSeconds = 60.0
    /// Log lines in a minute that strangers on the network can cause; the rest is counted.
    public static let strangerLinesPerMinuteMax = 30
    /// Different log lines remembered to recognise a repeat.
    public static let logLinesRemembered = 200
    /// Databases of a node.
    public static let databasesMax = 1_000
    /// A database that could not be opened for a reason that passes is tried again after this time.
    static let reopenSeconds = 10.0
    /// Pairings under way at the same time, in each direction.
    static let pairingsMax = 8
    /// Of those, how many one machine may ask for.
    static let pairingsPerAddressMax = 2
    /// Pairings that are kept in all, those that have ended included.
    static let pairingsRememberedMax = 32
    /// Who opens a connection for pairing says by then who it is.
    static let pairingOpenSeconds = 10.0
    /// A request to pair that nobody has accepted by then is over.
    static let pairingAskSeconds = 60.0
    /// How long the last message of a pairing may take to go out.
    static let pairingLingerSeconds = 1.0
    /// The two people compare the numbers within this time.
    static let pairingCompareSeconds = 60.0
    /// How long an invitation is good unless somebody says otherwise …
    public static let invitationSecondsDefault = 600.0
    /// … and the shortest and longest time that may be said.
    public static let invitationSecondsRange = 1.0...86_400.0
    /// Wrong codes after which an invitation is good no more: an attacker has so many guesses of ten million.
    public static let invitationTriesMax = 3
    /// One exchange of a code takes at most so long, the time to reach the other machine not counted.
    static let invitationExchangeSeconds = 20.0
    /// Invitations, and codes used here, that are kept after they have ended, so that whoever follows one learns how.
    static let invitationsRememberedMax = 16
    /// Nodes nearby that a code is tried with at the same time, when it is not said whose it is.
    static let joinsAtOnceMax = 4
    /// Machines that one use of a code proves to know it, one after the other: each false one among them has a guess of ten
    /// million.
    static let joinProofsMax = 3
    /// One use of a code takes at most so long.
    static let joinSecondsMax = 90.0
    /// Refused documents of each peer and database that are counted, and looked out for on its links. The store keeps more.
    public static let refusalsRememberedMax = 1_000
    /// Refused documents that status lists for each peer and database, the last ones.
    public static let refusalsListedMax = 20
    /// How long a refused document waits before it is offered again on a new link; it doubles each time …
    public static let refusalRetrySecondsMin: Int64 = 10
    /// … up to this: bounds what a flapping link with a large document costs.
    public static let refusalRetrySecondsMax: Int64 = 3_600
    /// How soon after a change it is looked whether refusals are about nothing any more.
    static let refusalLookSeconds = 0.5
    /// Exchanges of statements that this node dials at the same time: others wait.
    static let trustExchangesMax = 8
    /// One address of an exchange takes at most so long.
    static let trustExchangeSeconds = 20.0
    /// What others have said is passed on within this time, by chance, so that a whole site does not talk at once.
    static let trustSpreadSeconds = 5.0
    /// How soon a peer that could not be told is tried again; it doubles each time, up to `trustAskSecondsMax`.
    static let trustRetrySecondsMin = 5.0
    /// How long an address is left alone after it was asked who is there; it doubles each time …
    static let trustAskSecondsMin = 10.0
    /// … up to this.
    static let trustAskSecondsMax = 3_600.0
    /// How many exchanges of statements strangers at one address may begin at once …
    static let trustStrangersAtOnce = 64
    /// … and after how many seconds one more.
    static let trustStrangerSeconds = 1.0
    /// How often a node of a site looks for another revocation list, and for nodes that it does not know.
    static let siteLookSeconds = 2.0
    /// How often the certificates of a site's nodes that are linked are judged again, since time passes.
    static let siteJudgeSeconds = 60.0
    /// How often a running node looks whether its certificate is to be renewed.
    static let certificateLookSeconds = 86_400.0
    /// How long the answer to a revocation waits for peers that are connected to be told.
    static let revokeSecondsMax = 3.0

    // Replication with CouchDB servers

    /// The URL of a database of a CouchDB server.
    static let couchDBURLBytesMax = 2_000
    /// Replications with CouchDB servers that are under way at the same time.
    static let couchDBReplicationsMax = 100
    /// The file of the documents of `_replicator`.
    static let replicatorFileBytesMax = 8 << 20
    /// Sessions that fail, one after the other, before a replication that ends by itself is given up.
    static let couchDBAttemptsMax = 6
    /// The same where the server has never answered: most likely its URL is wrong.
    static let couchDBFirstAttemptsMax = 2
}
