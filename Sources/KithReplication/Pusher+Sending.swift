import KithDocuments
import KithStore
import KithWire

// The revisions that the peer asked for, on their way.

extension Pusher {
    func readRevisions() {
        guard !windows.isReadingRevisions, queued > 0, windows.unansweredBytes < limits.unansweredRevisionBytesMax,
            windows.unansweredRevisions < limits.unansweredRevisionsMax
        else { return }
        windows.isReadingRevisions = true
        let wanted = Array(queue[queueHead..<min(queue.count, queueHead + limits.revisionsPerReadMax)])
        replicator.perform(.readRevisions(wanted, bytesMax: limits.revisionsPerReadBytesMax)) {
            [unowned self] result in
            windows.isReadingRevisions = false
            guard case .revisions(let revisions) = result else { return session.storeFailed(result) }
            for (outgoing, revision) in zip(wanted, revisions) {
                switch revision {
                case .success(let revision?): send(revision, outgoing)
                case .success(nil):
                    if looksAgain, gone.count < limits.subscribedDocumentsMax { gone.append(outgoing.name.id) }
                    sendGone(outgoing)
                case .failure(let error):
                    replicator.refused(
                        outgoing.name, by: .here, isOutgoing: true, code: error.code.httpStatus, reason: error.message)
                    sendGone(outgoing, error: error.code.httpStatus)
                }
            }
            queueHead += revisions.count
            if queueHead == queue.count || queueHead > 4_096 {
                queue.removeFirst(queueHead)
                queueHead = 0
            }
        }
    }

    private func send(_ revision: RevisionForTransfer, _ outgoing: OutgoingRevision) {
        var properties = BLIPProperties()
        properties.reserve(byteCount: 160)
        properties.append("Profile", "rev")
        properties.append("id", revision.id.text)
        properties.append("rev") { revision.revision.append(to: &$0) }
        properties.append("sequence", positionText(outgoing.sequence))
        let (known, historyMax) = (outgoing.ancestors, outgoing.historyMax)
        let history =
            replicator.configuration.peerIsKith
            ? SentHistory.text(of: revision, known: known, max: historyMax)
            : SentHistory.textWithoutGaps(of: revision, known: known, max: historyMax)
        if !history.isEmpty { properties.append("history", history) }
        if revision.isDeleted { properties.append("deleted", "1") }
        if revision.revision != outgoing.name.revision {
            properties.append("replacedRev", outgoing.name.revision.description)
        }
        let body = RevisionMessage.body(of: revision)
        let digests = revision.attachments.digests
        let bytes = body.count + properties.byteCount
        windows.unansweredBytes += bytes
        windows.unansweredRevisions += 1
        replicator.blobSender.noteSent(digests)
        let sent = SentRevision(
            name: RevisionName(id: revision.id, revision: revision.revision), ticket: outgoing.ticket, bytes: bytes,
            digests: digests)
        replicator.send(
            BLIPOutgoing(
                properties: properties, body: body, isUrgent: false, isNoReply: false,
                isCompressed: body.count >= limits.compressedBodyBytesMin),
            // A Kith node answers each: when it does not, that says nothing about the document.
            ifUnanswered: replicator.configuration.peerIsKith
                ? nil
                : AwaitedReply.Patience(
                    waitsForBlobs: !digests.isEmpty, giveUp: { [unowned self] in giveUp(sent) },
                    takeLate: { [unowned self] in answeredLate(sent, $0) })
        ) { [unowned self] in answered(sent, $0) }
    }

    private func answered(_ sent: SentRevision, _ reply: BLIPMessage) {
        leaveWindows(sent)
        replicator.blobSender.noteAnswered(sent.digests)
        if let error = reply.error {
            if replicator.configuration.peerIsKith, error.domain == "HTTP", Self.isTransient(error.code) {
                return session.end(
                    closeCode: 4001, "the peer cannot store now: \(error.code) \(error.message.prefix(200))")
            }
            // Attachments that went meanwhile are as good as a revision that did: a newer one will be announced.
            if sent.digests.isEmpty || error.code != 410 {
                replicator.refused(
                    sent.name, by: .peer, isOutgoing: true, code: error.code, reason: error.message)
            }
        } else {
            taken(sent)
        }
        close(sent.ticket, of: sent.name.id)
    }

    /// A client has not answered for too long: the document stands refused, and the others go on. It may still fetch the attachments.
    private func giveUp(_ sent: SentRevision) {
        leaveWindows(sent)
        replicator.refused(
            sent.name, by: .peer, isOutgoing: true, code: 504,
            reason: "the peer has not answered it for \(Int(limits.unansweredSecondsMax)) s")
        close(sent.ticket, of: sent.name.id)
    }

    /// The answer came after all.
    private func answeredLate(_ sent: SentRevision, _ reply: BLIPMessage) {
        replicator.blobSender.noteAnswered(sent.digests)
        if let error = reply.error {
            replicator.refused(sent.name, by: .peer, isOutgoing: true, code: error.code, reason: error.message)
        } else {
            taken(sent)
        }
    }

    private func leaveWindows(_ sent: SentRevision) {
        windows.unansweredBytes -= sent.bytes
        windows.unansweredRevisions -= 1
    }

    /// The peer has it.
    private func taken(_ sent: SentRevision) {
        session.standing.revisionsSent += 1
        session.noteArrival(sent.name, in: replicator.collection, isOutgoing: true)
        replicator.taken(sent.name, isOutgoing: true)
    }

    /// One announced revision is done.
    func close(_ ticket: Int, of id: DocumentID) {
        tracker.close(ticket)
        guard !underWay.isEmpty else { return }
        underWay.remove(id)
        if blocking == id { blocking = nil }
    }

    /// A sequence as the peer is told it.
    private func positionText(_ sequence: UInt64) -> String {
        SentPosition.text(sequence, tag: replicator.configuration.filterTag)
    }

    /// Tells the peer that an announced revision cannot come, mostly since a newer one took its place, which will be
    /// announced.
    ///
    /// - Parameters:
    ///   - error: what is wrong with it, as an HTTP status.
    ///   - proof: pairs of revisions, what supersedes and what is superseded.
    func sendGone(_ outgoing: OutgoingRevision, error: Int = 410, proof: [RevisionID] = []) {
        var properties: BLIPProperties = [
            "Profile": "norev", "id": outgoing.name.id.text, "rev": outgoing.name.revision.description,
            "sequence": positionText(outgoing.sequence), "error": String(error),
        ]
        if !proof.isEmpty {
            properties.append(
                RevisionMessage.supersededProperty, proof.map(\.description).joined(separator: ","))
        }
        replicator.send(
            BLIPOutgoing(
                properties: properties, body: [], isUrgent: false, isNoReply: true, isCompressed: false))
        close(outgoing.ticket, of: outgoing.name.id)
    }

    /// Codes of a Kith node after which the same revision may be stored later without anybody changing it. A client also
    /// answers so for a document that it can never take, and keeps its own checkpoint: the next pull offers it again.
    private static func isTransient(_ code: Int) -> Bool {
        switch code {
        case 408, 429: true
        // Whatever is wrong at the peer itself says nothing about this revision.
        default: code >= 500 && code != 501
        }
    }
}
