import KithDocuments
import KithReplication
import KithWire

extension ClientReplicator {
    /// How many ancestors Couchbase Lite names at most.
    private static let ancestorsMax = 10

    func receiveChanges(_ message: BLIPMessage) {
        guard let value = try? JSONValue(parsing: message.body), let entries = value.arrayValue else {
            return fail("a list of changes that is none")
        }
        guard !entries.isEmpty else {
            isCaughtUp = true
            if !message.isNoReply { reply(message.number) }
            return
        }
        var answers: [JSONValue] = []
        for entry in entries {
            guard let fields = entry.arrayValue, fields.count >= 3, let text = fields[1].stringValue,
                let id = try? DocumentID(text), let revisionText = fields[2].stringValue,
                let revision = try? RevisionID(parsing: revisionText)
            else { return fail("an entry of changes that is none: \(entry)") }
            guard client.replicates(id) else { return fail("\(id) was not asked for") }
            let document = database.documents[id]
            if document?.has(revision) == true {
                answers.append(JSONValue(0))
                database.documents[id]?.remote = revision
                order.append((fields[0], true))
                continue
            }
            let known = (document?.revision.map { [$0] } ?? []) + (document?.history ?? [])
            answers.append(
                .array(
                    known.filter { $0.generation < revision.generation }.prefix(Self.ancestorsMax)
                        .map { .string($0.description) }))
            let name = RevisionName(id: id, revision: revision)
            if expected[name] != nil { fail("\(id) \(revision) was announced twice before it came") }
            expected[name] = order.count
            order.append((fields[0], false))
        }
        advance()
        reply(
            message.number, ["maxHistory": String(ClientDatabase.revisionsMax), "blobs": "true"],
            JSONValue.array(answers).canonicalBytes())
    }

    /// Moves the checkpoint up to the first sequence that is not done.
    private func advance() {
        let done = order.prefix { $0.isDone }.count
        guard done > 0 else { return }
        pulledThrough = order[done - 1].sequence
        order.removeFirst(done)
        for (name, place) in expected { expected[name] = place - done }
    }

    private func finish(_ name: RevisionName, _ sequence: String?) {
        guard let place = expected.removeValue(forKey: name) else {
            return fail("\(name.id) \(name.revision) was not asked for")
        }
        if order[place].sequence.canonicalText() != sequence {
            fail("\(name.id) \(name.revision) came with another sequence than was announced")
        }
        order[place].isDone = true
        advance()
    }

    func receiveNoRevision(_ message: BLIPMessage) {
        guard let name = name(message, "rev") else { return fail("a norev without names") }
        finish(name, message.properties["sequence"])
    }

    private func name(_ message: BLIPMessage, _ property: String) -> RevisionName? {
        guard let id = message.properties["id"].flatMap({ try? DocumentID($0) }),
            let revision = message.properties[property].flatMap({ try? RevisionID(parsing: $0) })
        else { return nil }
        return RevisionName(id: id, revision: revision)
    }

    func receiveRevision(_ message: BLIPMessage) {
        guard let name = name(message, "rev"),
            let (body, attachments) = try? CanonicalJSON.splitAttachments(message.body)
        else { return fail("a rev that is none") }
        let texts = (message.properties["history"] ?? "").split(separator: ",")
        let history = texts.compactMap { try? RevisionID(parsing: String($0)) }
        guard history.count == texts.count else { return fail("a history with what is no revision: \(texts)") }
        if let fault = faultOfHistory(name, history) { return fail(fault) }
        let asked = self.name(message, message.properties["replacedRev"] == nil ? "rev" : "replacedRev") ?? name
        fetch(Array(attachments.digests), name.id) { [unowned self] error in
            if let error {
                // What went with its revision has a newer one, which will be announced.
                blip.replyError(domain: error.domain, code: error.code, to: message.number)
                if error.code != 410 { fail("an attachment of \(name.id) \(name.revision): \(error)") }
            } else {
                store(name, history, body, attachments, isDeleted: message.properties.bool("deleted"))
                reply(message.number)
            }
            finish(asked, message.properties["sequence"])
        }
    }

    /// What Couchbase Lite asks of a history: down to the first revision that it has, generations fall by one; only where the
    /// rest would be pruned may they fall by more.
    private func faultOfHistory(_ name: RevisionName, _ history: [RevisionID]) -> String? {
        var last = name.revision.generation
        for (index, ancestor) in history.enumerated() {
            let isDeep = index + 1 >= ClientDatabase.revisionsMax - 1
            guard ancestor.generation + 1 == last || ancestor.generation < last && isDeep else {
                return "the history of \(name.id) \(name.revision) is not sequential: \(history)"
            }
            if database.documents[name.id]?.has(ancestor) == true { return nil }
            last = ancestor.generation
        }
        return nil
    }

    /// Fetches attachments one after the other.
    private func fetch(
        _ digests: [AttachmentDigest], _ id: DocumentID, then handler: @escaping (BLIPMessage.ErrorInfo?) -> Void
    ) {
        guard let digest = digests.first(where: { database.blobs[$0] == nil }) else { return handler(nil) }
        let properties: BLIPProperties = [
            "digest": "\(digest)", "docID": id.text, "compress": random.chance(0.5) ? "true" : "false",
        ]
        ask("getAttachment", properties) { [unowned self] answer in
            if let error = answer.error { return handler(error) }
            database.blobs[digest] = answer.body
            fetch(digests, id, then: handler)
        }
    }

    private func store(
        _ name: RevisionName, _ history: [RevisionID], _ body: [UInt8], _ attachments: AttachmentList, isDeleted: Bool
    ) {
        var document = database.documents[name.id] ?? ClientDocument()
        // It came while a child of it was made: nothing to do.
        guard !document.has(name.revision) else { return }
        let mine = document
        let place = document.revision.flatMap { history.firstIndex(of: $0) }
        document.history = place.map { Array(history[...$0]) + mine.history } ?? history
        document.revision = name.revision
        document.remote = name.revision
        (document.body, document.attachments, document.isDeleted) = (body, attachments, isDeleted)
        database.store(document, name.id)
        guard mine.isPending, place == nil else { return }
        resolve(name.id, mine)
    }

    /// Ends a conflict: the node's revision stays, or a child of it has what was written here.
    private func resolve(_ id: DocumentID, _ mine: ClientDocument) {
        guard options.pushes, random.chance(0.7) else { return }
        let digest = ClientReplicator.digest(&random)
        do {
            try database.save(
                id, mine.body, attachments: mine.attachments, isDeleted: mine.isDeleted, digest: digest)
        } catch {
            fail("a conflict of \(id) cannot be resolved: \(error)")
        }
    }

    static func digest(_ random: inout SeededGenerator) -> String {
        (0..<5).map { _ in String(UInt32(truncatingIfNeeded: random.next()) | 1 << 31, radix: 16) }.joined()
    }
}
