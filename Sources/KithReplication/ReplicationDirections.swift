/// The directions in which changes may travel on a link, as this node sees them.
///
/// Each end has its own: a change goes from A to B only where A sends and B receives.
public struct ReplicationDirections: OptionSet, Sendable, Hashable {
    /// The bits.
    public let rawValue: UInt8

    /// Makes a set of its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What is changed here goes to the peer.
    public static let send = ReplicationDirections(rawValue: 1)
    /// What is changed at the peer comes here.
    public static let receive = ReplicationDirections(rawValue: 2)
    /// Both ways.
    public static let both: ReplicationDirections = [.send, .receive]

    /// One word for it, on the wire and in status: `both`, `send`, `receive` or `none`.
    public var name: String { Self.names[Int(rawValue & 3)] }

    /// Reads that word; `nil` when it is none.
    public init?(name: String) {
        guard let value = Self.names.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) else { return nil }
        self.init(rawValue: UInt8(value))
    }

    /// The same as the other end sees it.
    public var reversed: ReplicationDirections {
        var result: ReplicationDirections = []
        if contains(.send) { result.insert(.receive) }
        if contains(.receive) { result.insert(.send) }
        return result
    }

    private static let names = ["none", "send", "receive", "both"]
}
