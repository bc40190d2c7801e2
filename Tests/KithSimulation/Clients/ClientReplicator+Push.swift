import KithDocuments
import KithReplication
import KithWire

extension ClientReplicator {
    /// Documents named in one message.
    private static let proposedMax = 200

    /// Asks which of the changes would be taken.
    func propose() {
        guard !isProposing else { return }
        setAside = setAside.filter { database.documents[$0]?.revision == $1 }
        let ids = database.pending { [unowned self] id in
            client.replicates(id) && !inFlight.contains(id) && setAside[id] == nil
        }.prefix(Self.proposedMax)
        guard !ids.isEmpty else { return }
        let documents = ids.compactMap { id in database.documents[id].map { (id, $0) } }
        let list = JSONValue.array(
            documents.map { id, document in
                .array([
                    .string(id.text), .string(document.revision?.description ?? ""),
                    .string(document.remote?.description ?? ""),
                ])
            })
        isProposing = true
        ask("proposeChanges", ["conflictIncludesRev": "true"], list.canonicalBytes(), isUrgent: true) {
            [unowned self] answer in
            isProposing = false
            guard answer.error == nil, let statuses = (try? JSONValue(parsing: answer.body))?.arrayValue,
                statuses.count <= documents.count
            else { return fail("proposeChanges was answered \(answer)") }
            let historyMax = answer.properties.int("maxHistory") ?? ClientDatabase.revisionsMax
            for (index, (id, document)) in documents.enumerated() {
                // Where none is told, it is wanted.
                take(statuses.indices.contains(index) ? statuses[index] : JSONValue(0), id, document, historyMax)
            }
        }
    }

    private func take(_ status: JSONValue, _ id: DocumentID, _ document: ClientDocument, _ historyMax: Int) {
        guard let revision = document.revision else { return }
        switch status.int64Value ?? status["status"]?.int64Value {
        case 0: send(id, document, historyMax)
        case 304: database.documents[id]?.remote = revision
        case 409:
            let current = status["rev"]?.stringValue.flatMap { try? RevisionID(parsing: $0) }
            if let current, current != document.remote, document.history.contains(current) {
                // It is an ancestor: the same once more, with it as the parent.
                database.documents[id]?.remote = current
            } else {
                // What the node has comes with the pull, and is resolved then.
                setAside[id] = revision
            }
        case let other: fail("\(id) \(revision) was answered \(other.map(String.init) ?? "\(status)")")
        }
    }

    private func send(_ id: DocumentID, _ document: ClientDocument, _ historyMax: Int) {
        // It may have changed since it was proposed; what was proposed is what is sent.
        guard let revision = document.revision else { return }
        var properties: BLIPProperties = [
            "id": id.text, "rev": revision.description, "sequence": String(document.sequence), "noconflicts": "1",
        ]
        let history = Self.withoutGaps(revision, document.history).prefix(max(0, historyMax - 1))
        if !history.isEmpty { properties.append("history", history.map(\.description).joined(separator: ",")) }
        if document.isDeleted { properties.append("deleted", "1") }
        var body = document.body
        if !document.attachments.isEmpty {
            let stubs = Array("{\"_attachments\":".utf8) + document.attachments.canonicalBytes()
            body = stubs + (body.count > 2 ? Array(",".utf8) : []) + body.dropFirst()
        }
        let digests = document.attachments.digests
        for digest in digests { inFlightDigests[digest, default: 0] += 1 }
        inFlight.insert(id)
        ask("rev", properties, body) { [unowned self] answer in
            inFlight.remove(id)
            for digest in digests { inFlightDigests[digest, default: 1] -= 1 }
            if let error = answer.error {
                guard error.domain == "HTTP", error.code == 409 else {
                    return fail("\(id) \(revision) was refused: \(error)")
                }
                setAside[id] = revision
                return
            }
            acknowledged.append(RevisionName(id: id, revision: revision))
            if database.documents[id]?.has(revision) == true { database.documents[id]?.remote = revision }
        }
    }

    /// A history with an invented ID for each generation that is missing, as Couchbase Lite fills its own.
    private static func withoutGaps(_ revision: RevisionID, _ history: [RevisionID]) -> [RevisionID] {
        var filled: [RevisionID] = []
        var newer = revision
        for ancestor in history {
            var generation = newer.generation - 1
            while generation > ancestor.generation, filled.count < ClientDatabase.revisionsMax {
                filled.append(newer.filler(at: generation))
                generation -= 1
            }
            filled.append(ancestor)
            newer = ancestor
        }
        return filled
    }

    func sendAttachment(_ message: BLIPMessage) {
        guard let digest = message.properties["digest"].flatMap({ try? AttachmentDigest(parsing: $0) }),
            inFlightDigests[digest, default: 0] > 0, let bytes = database.blobs[digest]
        else {
            blip.replyError(domain: "LiteCore", code: 7, to: message.number)
            return
        }
        reply(message.number, [:], bytes)
    }
}
