import KithDocuments
import KithReplication
import KithStore
import KithTrust

extension Node {
    /// Says of each peer whether it has a document, and else why not.
    ///
    /// - Parameters:
    ///   - id: the document.
    ///   - name: its database.
    ///   - collection: its collection.
    ///   - peer: only for this peer; nil for all that are trusted.
    /// - Throws: `.databaseNotFound`; `.notFound` when there is no such document here, and none was refused; errors of the
    ///   store.
    public func explain(
        _ id: DocumentID, in name: DatabaseName, collection: CollectionName = .default, peer: NodeID? = nil
    ) async throws
        -> DocumentExplanation
    {
        let database = try registry.database(name)
        let peers = home.peerBook.peers.filter { peer == nil || $0.id == peer }
        let known = peers.map {
            (
                sent: links.sentThrough(to: $0.id, name, collection), progressName: PeerLink.progressName($0.id),
                filterTag: links.filter(LinkKey(peer: $0.id, database: name))?.tag
            )
        }
        let (document, refusals, places) = try await database.read { snapshot in
            let snapshot = try snapshot.collection(collection)
            let document = try snapshot.document(id)
            let refusals = try snapshot.refusals(id: id.text, limit: StoreLimits.refusalsMax)
            let obsolete = Set(try snapshot.obsolete(refusals))
            let places = try known.map { known -> (isSent: Bool?, before: Int?) in
                let saved = try snapshot.localDocument(known.progressName).flatMap(PeerProgress.init(parsing:))
                // Where nothing was saved, nobody has ever looked.
                guard saved != nil || known.sent.through != nil,
                    let progress = LinkManager.progress(
                        saved, known.sent.through, known.sent.received, filterTag: known.filterTag)
                else { return (nil, nil) }
                guard let document, !progress.includes(document.sequence) else { return (true, nil) }
                return (false, try progress.pendingCount(snapshot, before: document.sequence))
            }
            return (document, refusals.filter { !obsolete.contains($0.key) && $0.key.collection == collection }, places)
        }
        var answer = DocumentExplanation(document: document, peers: [])
        for (peer, place) in zip(peers, places) {
            func refusal(isOutgoing: Bool) -> DocumentRefusal? {
                refusals.first {
                    $0.key.isOutgoing == isOutgoing && $0.key.peer.utf8.elementsEqual(peer.id.description.utf8)
                }
            }
            let (sent, received) = (refusal(isOutgoing: true), refusal(isOutgoing: false))
            let (isConnected, isShared) = links.isLinked(to: peer.id, name)
            let passes =
                document.map { links.filter(LinkKey(peer: peer.id, database: name))?.includes($0) ?? true } ?? true
            let isSent = passes && links.isSent(to: peer.id, name)
            let state: DocumentExplanation.State =
                if !isShared {
                    .notShared
                } else if !passes || (!isSent && document != nil && place.isSent != true) {
                    .notSent
                } else if document != nil, let isThere = place.isSent {
                    !isThere ? .waiting : sent != nil ? .refused : .there
                } else {
                    sent != nil || received != nil ? .refused : .unknown
                }
            answer.peers.append(
                DocumentExplanation.OnPeer(
                    peer: peer, state: state, isConnected: isConnected, before: place.before, sent: sent,
                    received: received))
        }
        if peer == nil, collection == .default { answer.servers = onServers(id, document, name, refusals) }
        guard
            document != nil || answer.peers.contains(where: { $0.received != nil })
                || answer.servers.contains(where: { $0.received != nil })
        else {
            throw KithError(.notFound, "missing")
        }
        return answer
    }
}

extension Node {
    private func onServers(
        _ id: DocumentID, _ document: StoredDocument?, _ name: DatabaseName, _ refusals: [DocumentRefusal]
    ) -> [DocumentExplanation.OnServer] {
        let jobs = httpReplications.all.filter { $0.request.database == name }
        var urls = jobs.map(\.request.address.url)
        for refusal in refusals where CouchDBAddress.isURL(refusal.key.peer) {
            if !urls.contains(where: { $0.utf8.elementsEqual(refusal.key.peer.utf8) }) { urls.append(refusal.key.peer) }
        }
        return urls.map { url in
            func refusal(isOutgoing: Bool) -> DocumentRefusal? {
                refusals.first { $0.key.isOutgoing == isOutgoing && $0.key.peer.utf8.elementsEqual(url.utf8) }
            }
            let (sent, received) = (refusal(isOutgoing: true), refusal(isOutgoing: false))
            let job = jobs.first { $0.request.address.url.utf8.elementsEqual(url.utf8) }
            let through = job.flatMap { job in
                job.request.documentIDs == nil ? job.report.status.sentThrough[.default] : nil
            }
            let state: DocumentExplanation.State =
                if sent != nil || (document == nil && received != nil) {
                    .refused
                } else if let through, let document, job?.request.directions.contains(.send) == true {
                    document.sequence > through ? .waiting : .there
                } else {
                    .unknown
                }
            return DocumentExplanation.OnServer(
                url: url, state: state, isConnected: job?.report.isRunning ?? false, sent: sent, received: received)
        }
    }
}

extension DocumentExplanation {
    var json: JSONValue {
        JSONValue(object: [
            ("rev", JSONValue(optional: document?.revision.description)),
            ("deleted", .bool(document?.isDeleted ?? false)),
            ("versions", JSONValue((document?.conflicts.count ?? -1) + 1)),
            ("sequence", document.map { JSONValue($0.sequence) } ?? .null),
            (
                "peers",
                .array(
                    peers.map {
                        JSONValue(object: [
                            ("name", .string($0.peer.name)), ("id", .string($0.peer.id.short)),
                            ("state", .string($0.state.rawValue)), ("connected", .bool($0.isConnected)),
                            ("before", JSONValue(optional: $0.before)), ("sent", $0.sent?.json ?? .null),
                            ("received", $0.received?.json ?? .null),
                        ])
                    }
                        + servers.map {
                            JSONValue(object: [
                                ("name", .string($0.url)), ("state", .string($0.state.rawValue)),
                                ("connected", .bool($0.isConnected)), ("before", .null),
                                ("sent", $0.sent?.json ?? .null), ("received", $0.received?.json ?? .null),
                            ])
                        })
            ),
        ])
    }
}
