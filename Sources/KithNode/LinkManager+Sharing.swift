import KithDocuments
import KithReplication
import KithTrust

// What is shared with whom.

extension LinkManager {
    /// What a peer may do with a database; nothing once it is not trusted any more.
    func access(_ key: LinkKey) -> PeerAccess { book.peer(key.peer)?.access(to: key.database) ?? .noAccess }

    /// Whether a database is replicated with a peer only when somebody asks for it here.
    func isOnDemand(_ key: LinkKey) -> Bool { book.peer(key.peer)?.replication(of: key.database) == .manual }

    /// How databases are shared with a peer was changed: links of those that it concerns are cut, so that nothing goes out that
    /// the peer may not have any more, and new ones have what is so now.
    ///
    /// - Parameter old: how it was.
    func sharingChanged(from old: Peer) {
        func concerns(_ key: LinkKey) -> Bool {
            key.peer == old.id
                && (old.access(to: key.database) != access(key)
                    || (old.replication(of: key.database) == .manual) != isOnDemand(key))
        }
        giveUpDials(where: concerns)
        remove(where: concerns, end: { $0.cut("how the database is shared was changed") })
        refresh()
    }
}
