import KithDocuments
import KithReplication
import KithStore
import KithTransport

/// The place of the one link of a peer and a database: the live link if there is one, else what is being done about it.
/// A client that is no Kith node may have several.
@LoopActor
final class LinkSlot {
    let key: LinkKey
    /// Whether there is a link only when somebody asks for one here.
    let isOnDemand: Bool
    /// Decides when to dial and which link stays.
    var keeper: LinkKeeper
    var link: PeerLink?
    /// Links of a client that is no Kith node; they do not take each other's place.
    var clients: [PeerLink] = []
    /// Links of replications that end by themselves, on either side. They say nothing of how the pair stands.
    var oneShots: [PeerLink] = []
    /// All live links of the pair itself.
    var links: [PeerLink] { link.map { [$0] + clients } ?? clients }
    var isLinked: Bool { link != nil || !clients.isEmpty }
    /// Whether a link is wanted and not there.
    var isAwaited: Bool { link == nil && !isOnDemand }
    var dial: LinkDialler?
    /// Wakes the keeper.
    var timer: LoopTimer?
    /// Since when the slot has or lacks a link.
    var sinceSeconds = WallClock.seconds
    var lastError: String?
    var lastErrorCode: ErrorCode?
    var lastErrorSeconds: Int64?
    var lastInSyncSeconds: Int64?
    /// When the peer was last heard on a link that has ended.
    var lastHeardSeconds: Int64?
    /// For each collection the sequence up to which every change is at the peer, as the last link knew.
    var sentThrough: [CollectionName: UInt64] = [:]
    /// Behind that, what came from the peer on links over which nothing was sent to it.
    var received: [CollectionName: SequenceRanges] = [:]
    /// Whether the peer has answered that it has no database of this name.
    var isAbsentThere = false
    /// Whether the peer has answered that it replicates the database only when somebody asks for it there.
    var isOnDemandThere = false
    /// What could travel on the last link.
    var directions = ReplicationDirections.both
    /// What waits for the peer while there is no link.
    var waiting: Int?
    var isCounting = false
    /// What was refused and is not known to be taken since: the last ones, as the database keeps them.
    var refusals: [DocumentRefusal.Key: DocumentRefusal] = [:]
    var hasLoadedRefusals = false
    /// Called when they were loaded.
    var waitsForRefusals: [() -> Void] = []
    /// Waits to look which of them are about nothing any more.
    var refusalTimer: LoopTimer?
    /// Whether the link was once idle, for the log.
    var wasInSync = false

    /// - Parameters:
    ///   - leads: whether this node has the smaller ID.
    ///   - isOnDemand: whether there is a link only when somebody asks for one.
    init(key: LinkKey, leads: Bool, isOnDemand: Bool) {
        self.key = key
        self.isOnDemand = isOnDemand
        keeper = LinkKeeper(leads: leads)
    }

    func noteError(_ text: String, _ code: ErrorCode) {
        lastError = text
        lastErrorCode = code
        lastErrorSeconds = WallClock.seconds
    }

    func stop() {
        timer?.cancel()
        timer = nil
        dial?.cancel()
        dial = nil
    }
}
