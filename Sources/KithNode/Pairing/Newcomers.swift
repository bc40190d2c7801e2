import KithDocuments
import KithTransport
import KithTrust

/// Writes machines into the book of peers that this node has just been paired with, under a name that is free.
@LoopActor
final class Newcomers {
    private let book: PeerBook
    /// Trusts a node under a name, durably, and remembers where it was reached.
    var onTrust: ((NodeID, String, SocketAddress?, InvitationTerms?, PairingMethod) throws(KithError) -> Peer)?

    init(book: PeerBook) { self.book = book }

    /// Trusts a machine under its own name, unless another peer has that.
    ///
    /// - Parameters:
    ///   - id: the key that it has proved to own.
    ///   - name: what it calls itself.
    ///   - address: where it was dialled, by the side that dialled.
    ///   - method: how a person has decided it.
    ///   - terms: how databases are shared with it; `nil` for every database, or as was said before.
    /// - Throws: errors of the book. Then it is not trusted.
    func trust(
        _ id: NodeID, calling name: String?, at address: SocketAddress?, by method: PairingMethod,
        terms: InvitationTerms? = nil
    ) throws(KithError) -> Peer {
        guard let onTrust else { throw KithError(.closed, "the node is stopping") }
        // One that is trusted already keeps the name that it has here.
        if let known = book.peer(id) { return try onTrust(id, known.name, address, terms, method) }
        // A name that reads like the short ID of another would be taken for it.
        let short = id.short
        let name = name.flatMap { Self.readsLikeShortID($0) ? nil : $0 } ?? short
        do {
            return try onTrust(id, name, address, terms, method)
        } catch  where error.code == .nameTaken {
            return try onTrust(id, name == short ? "\(short) new" : short, address, terms, method)
        }
    }

    private static func readsLikeShortID(_ name: String) -> Bool {
        let characters = name.utf8.filter { $0 != UInt8(ascii: "-") }
        return characters.count == 8
            && characters.allSatisfy {
                switch $0 | 0x20 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
                default: false
                }
            }
            && name.utf8.contains { (48...57).contains($0) }
    }
}
