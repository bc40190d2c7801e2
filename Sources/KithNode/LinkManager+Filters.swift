import KithDocuments
import KithReplication
import KithTrust

// What an app lets go to peers.

extension PushFilter {
    /// Stands for its name where that may be too long, or is nobody's business.
    var tag: String { String(ContentDigest.hex(Array(name.utf8)).prefix(16)) }
}

extension LinkManager {
    /// Filters of one database: for single peers, and for all of which nothing else is said.
    struct Filters {
        var all: PushFilter?
        var ofPeers: [NodeID: PushFilter] = [:]
    }

    /// What may go to a peer; nil for everything.
    func filter(_ key: LinkKey) -> PushFilter? {
        guard let filters = filters[key.database] else { return nil }
        return filters.ofPeers[key.peer] ?? filters.all
    }

    /// Links that it concerns are cut, so that nothing goes out that the new filter does not let pass, and made anew with it.
    func setFilter(of database: DatabaseName, to peer: NodeID?, _ filter: PushFilter?) {
        if let peer {
            filters[database, default: Filters()].ofPeers[peer] = filter
        } else {
            filters[database, default: Filters()].all = filter
        }
        remove(
            where: { $0.database == database && (peer == nil || $0.peer == peer) },
            end: { $0.cut("what is sent of the database was changed") })
        refresh()
    }
}
