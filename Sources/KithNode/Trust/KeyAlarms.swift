import KithDocuments
import KithTrust

/// What was seen of keys that a person has to decide about.
struct KeyAlarms {
    /// A machine that calls itself like a peer and has another key.
    struct Shown {
        /// The whole ID, where it is known; its short form otherwise.
        var id: String
        var short: String
        var address: String
        /// When it was seen last, in seconds since 1970.
        var seconds: Int64
    }

    /// By the peer whose name it is.
    private(set) var shown: [NodeID: Shown] = [:]
    /// Where another machine has this node's own key, and when that was seen, in seconds since 1970.
    private(set) var ownKey: (address: String, seconds: Int64)?
    /// The successor of this node's key that is not this node.
    var ownSuccessor: NodeID?
    /// A second successor of a key that a peer had.
    var twoSuccessors: [NodeID: NodeID] = [:]
    /// Whole IDs of nodes that were asked, by their short ones.
    private var wholeIDs: [String: NodeID] = [:]

    /// How long an alarm stands after it was seen last, where nothing else says that it is over.
    static let alarmSeconds: Int64 = 3_600

    mutating func noteShown(_ peer: Peer, id: NodeID, address: String, seconds: Int64) {
        shown[peer.id] = Shown(id: id.description, short: id.short, address: address, seconds: seconds)
    }

    mutating func noteOwnKey(address: String, seconds: Int64) { ownKey = (address, seconds) }

    mutating func noteSeen(_ id: NodeID) {
        if wholeIDs.count >= NodeLimits.nearbyMax { wholeIDs = [:] }
        wholeIDs[id.short] = id
    }

    func wholeID(short: String) -> NodeID? { wholeIDs[short] }

    /// A peer has another key now.
    mutating func rename(_ id: NodeID, to next: NodeID) {
        if let alarm = shown.removeValue(forKey: id) { shown[next] = alarm }
        if let other = twoSuccessors.removeValue(forKey: id) { twoSuccessors[next] = other }
    }

    /// Forgets what is about a peer: a person has decided.
    mutating func forget(_ id: NodeID) {
        shown[id] = nil
        twoSuccessors[id] = nil
    }

    /// Forgets what is over.
    mutating func expire(atSeconds now: Int64) {
        shown = shown.filter { now - $0.value.seconds < Self.alarmSeconds }
        if let seen = ownKey, now - seen.seconds >= Self.alarmSeconds { ownKey = nil }
    }
}
