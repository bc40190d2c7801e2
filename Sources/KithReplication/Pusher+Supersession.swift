import KithDocuments
import KithStore

// Leaves that are superseded here or at the peer, though the history that says so was cut: see DESIGN.md.

extension Pusher {
    /// The peer says that revisions announced to it are superseded: leaves here that it is right about cease to be such.
    func learn(_ proofs: [Supersession], _ outgoing: [OutgoingRevision]) {
        guard !outgoing.isEmpty else { return }
        // Who may not write here has no say in which leaves there are.
        let proofs = replicator.configuration.directions.contains(.receive) ? proofs : []
        replicator.windows.unansweredLists += 1
        replicator.supersede(proofs) { [unowned self] in
            replicator.windows.unansweredLists -= 1
            for one in outgoing { sendGone(one) }
        }
    }

    /// The peer has revisions announced to it, and other leaves: it is told which of those are superseded here.
    func teach(_ asked: [(outgoing: OutgoingRevision, leaves: [RevisionID])]) {
        guard !asked.isEmpty else { return }
        replicator.windows.unansweredLists += 1
        let names = asked.flatMap { one in one.leaves.map { RevisionName(id: one.outgoing.name.id, revision: $0) } }
        replicator.perform(.lookUp(names)) { [unowned self] result in
            replicator.windows.unansweredLists -= 1
            guard case .lookups(let lookups) = result else { return session.storeFailed(result) }
            var rest = lookups[...]
            for (outgoing, leaves) in asked {
                var proof: [RevisionID] = []
                for (revision, lookup) in zip(leaves, rest.prefix(leaves.count)) {
                    if case .superseded(let leaf) = lookup { proof += [leaf, revision] }
                }
                rest = rest.dropFirst(leaves.count)
                sendGone(outgoing, proof: proof)
            }
        }
    }
}
