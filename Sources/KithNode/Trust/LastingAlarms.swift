import KithDocuments
import KithTrust

/// What was seen of keys that no time makes good, as `alarms.json` in the home keeps it:
///
///     {"format": 1, "key": "ID", "shared": {"address": "192.168.1.77:4984", "at": 1780000000}, "successor": "ID",
///      "disputed": {"ID of the peer": "ID of the second successor"}}
///
/// `key` is this node's own ID; what is said of another is over, since that key is no longer in use.
struct LastingAlarms: Sendable, Equatable {
    /// Something that was seen at an address.
    struct Seen: Sendable, Equatable {
        var address: String
        /// In seconds since 1970.
        var seconds: Int64
    }

    /// Another machine that has this node's own key.
    var ownKey: Seen?
    /// A successor of this node's key that is not this node.
    var ownSuccessor: NodeID?
    /// By the peer whose former key has signed it: a second successor.
    var twoSuccessors: [NodeID: NodeID] = [:]

    static let bytesMax = 4 * 1024 * 1024

    /// Whether something else is to be kept: where a copy was seen last is not worth a write each time.
    func differs(from other: LastingAlarms) -> Bool {
        (ownKey == nil) != (other.ownKey == nil) || ownSuccessor != other.ownSuccessor
            || twoSuccessors != other.twoSuccessors
    }

    /// Reads what was kept.
    ///
    /// - Parameters:
    ///   - ownID: this node's ID.
    ///   - isPeer: whether somebody is in the book of peers; of others nothing is kept.
    /// - Throws: `.damaged` when it is no such file.
    init(parsing bytes: [UInt8], ownID: NodeID, isPeer: (NodeID) -> Bool) throws(KithError) {
        let value: JSONValue
        do throws(KithError) { value = try JSONValue(parsing: bytes, bytesMax: Self.bytesMax) } catch {
            throw KithError(.damaged, "alarms.json is not JSON", cause: error)
        }
        guard value["format"]?.int64Value == 1, let key = value["key"]?.stringValue else {
            throw KithError(.damaged, "alarms.json has no format that is known")
        }
        if try NodeID(parsing: key) == ownID {
            if let shared = value["shared"] {
                guard let address = shared["address"]?.stringValue, let seconds = shared["at"]?.int64Value else {
                    throw KithError(.damaged, "alarms.json has a shared key without its address and time")
                }
                ownKey = Seen(address: address, seconds: seconds)
            }
            ownSuccessor = try value["successor"]?.stringValue.map { (text) throws(KithError) in
                try NodeID(parsing: text)
            }
        }
        for (peer, other) in value["disputed"]?.objectValue ?? [:] {
            let peer = try NodeID(parsing: peer)
            if isPeer(peer) { twoSuccessors[peer] = try NodeID(parsing: other.stringValue ?? "") }
        }
    }

    /// Nothing was seen.
    init() {}

    func encoded(ownID: NodeID) -> [UInt8] {
        var value: JSONValue = ["format": 1, "key": .string(ownID.description)]
        if let ownKey { value["shared"] = ["address": .string(ownKey.address), "at": JSONValue(ownKey.seconds)] }
        if let ownSuccessor { value["successor"] = .string(ownSuccessor.description) }
        if !twoSuccessors.isEmpty {
            value["disputed"] = JSONValue(
                object: twoSuccessors.sorted { $0.key < $1.key }.map {
                    ($0.key.description, .string($0.value.description))
                })
        }
        return Array((value.prettyText() + "\n").utf8)
    }
}
