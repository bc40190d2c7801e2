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
    /// What stands until a person decides, over restarts as well.
    private(set) var lasting = LastingAlarms()
    /// Where another machine has this node's own key, and when that was seen, in seconds since 1970.
    var ownKey: LastingAlarms.Seen? { lasting.ownKey }
    /// The successor of this node's key that is not this node.
    var ownSuccessor: NodeID? { lasting.ownSuccessor }
    /// A second successor of a key that a peer had: the first that was heard of.
    var twoSuccessors: [NodeID: NodeID] { lasting.twoSuccessors }
    /// Whole IDs of nodes that were asked, by their short ones.
    private var wholeIDs: [String: NodeID] = [:]

    init(lasting: LastingAlarms = LastingAlarms()) { self.lasting = lasting }

    /// How long it is said that a machine shows another key than a peer of its name, after it was seen last: anybody can make that up.
    static let alarmSeconds: Int64 = 3_600

    mutating func noteShown(_ peer: Peer, id: NodeID, address: String, seconds: Int64) {
        shown[peer.id] = Shown(id: id.description, short: id.short, address: address, seconds: seconds)
    }

    mutating func noteOwnKey(address: String, seconds: Int64) {
        lasting.ownKey = LastingAlarms.Seen(address: address, seconds: seconds)
    }

    mutating func noteOwnSuccessor(_ id: NodeID) { lasting.ownSuccessor = lasting.ownSuccessor ?? id }

    mutating func noteTwoSuccessors(of peer: NodeID, other: NodeID) {
        if lasting.twoSuccessors[peer] == nil { lasting.twoSuccessors[peer] = other }
    }

    /// A person says that what was seen of this node's own key is over.
    mutating func settleOwnKey() { (lasting.ownKey, lasting.ownSuccessor) = (nil, nil) }

    /// A person has looked at the two successors of a peer's key.
    mutating func settleSuccessors(of peer: NodeID) { lasting.twoSuccessors[peer] = nil }

    mutating func noteSeen(_ id: NodeID) {
        if wholeIDs.count >= NodeLimits.nearbyMax { wholeIDs = [:] }
        wholeIDs[id.short] = id
    }

    func wholeID(short: String) -> NodeID? { wholeIDs[short] }

    /// A peer has another key now.
    mutating func rename(_ id: NodeID, to next: NodeID) {
        if let alarm = shown.removeValue(forKey: id) { shown[next] = alarm }
        if let other = lasting.twoSuccessors.removeValue(forKey: id) { lasting.twoSuccessors[next] = other }
    }

    /// Forgets what is about a peer: a person has decided.
    mutating func forget(_ id: NodeID) {
        shown[id] = nil
        lasting.twoSuccessors[id] = nil
    }

    /// Forgets what is over.
    mutating func expire(atSeconds now: Int64) {
        shown = shown.filter { now - $0.value.seconds < Self.alarmSeconds }
    }
}
