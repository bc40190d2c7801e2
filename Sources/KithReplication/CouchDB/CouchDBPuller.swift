import KithDocuments
import KithStore
import KithWire

/// Receives from the server what this node lacks: `_changes`, a look into the store, then `_bulk_get`, or where the server has
/// none, one document after the other.
final class CouchDBPuller {
    unowned let session: CouchDBReplicator
    var limits: CouchDBLimits { session.limits }
    private var tracker: SequenceTracker<JSONValue>
    /// Where checkpoints stay; nothing is behind it where that is nowhere.
    private var held: JSONValue??
    /// Where the next `_changes` begins; nobody but the server knows what it means.
    private var since: JSONValue
    private var isReading = false
    /// Whether the last answer was the end of what there was.
    private var isCaughtUp = false
    /// Changes behind the last answer, when the server says how many.
    private var pending: Int?
    private var queue: [WantedRevision] = []
    private var fetching = 0
    /// When the server may be asked again, which answers at once though nothing has come.
    private(set) var restsUntilSeconds: Double?
    private var usesBulkGet = true
    private(set) lazy var attachments = CouchDBAttachmentReceiver(puller: self)

    init(session: CouchDBReplicator, since: JSONValue) {
        self.session = session
        self.since = since
        tracker = SequenceTracker(completed: since == 0 ? nil : since)
        for refused in session.configuration.refusedBefore where !refused.isOutgoing {
            queue.append(WantedRevision(name: refused.name, ticket: nil, ancestors: []))
        }
    }

    /// How far everything is stored.
    var completed: JSONValue? { if let held { held } else { tracker.completed } }
    /// Whether nothing is left to do now.
    var isIdle: Bool { isCaughtUp && queue.isEmpty && fetching == 0 && tracker.count == 0 && attachments.isIdle }
    /// Changes that are not stored here; `nil` when the server does not say.
    var remaining: Int? { isCaughtUp ? tracker.count : pending.map { $0 + tracker.count } }

    /// Checkpoints go no further: something behind is noted nowhere.
    func hold() { if held == nil { held = .some(tracker.completed) } }

    func advance() {
        fetchNext()
        readChanges()
    }

    // MARK: Changes

    private func readChanges() {
        guard !isReading, queue.count + tracker.count < limits.queuedRevisionsMax else { return }
        guard !isCaughtUp || session.configuration.isContinuous else { return }
        if let restsUntilSeconds, session.now.monotonicSeconds < restsUntilSeconds { return }
        restsUntilSeconds = nil
        isReading = true
        var query = ["style=all_docs", "limit=\(limits.changesPerRequestMax)", CouchDBPath.since(since)]
        if isCaughtUp { query += ["feed=longpoll", "heartbeat=\(limits.heartbeatMilliseconds)"] }
        var filter: JSONValue?
        if let ids = session.configuration.documentIDs {
            query.append("filter=_doc_ids")
            filter = JSONValue(object: [("doc_ids", .array(ids.sorted().map { .string($0.text) }))])
        } else if let selector = session.configuration.selector {
            query.append("filter=_selector")
            filter = JSONValue(object: [("selector", selector)])
        }
        let path = "/_changes?" + query.joined(separator: "&")
        let request =
            filter.map { CouchDBRequest("POST", path, json: $0.canonicalBytes()) } ?? CouchDBRequest("GET", path)
        let silence = filter == nil ? nil : limits.filteredSilenceSecondsMax
        session.send(request, silenceMax: silence, isEndless: filter != nil || isCaughtUp) { [unowned self] answer in
            guard answer.isSuccess else {
                isReading = false
                if answer.isTooLong { return session.end(Self.tooLong(answer)) }
                return session.end(answer)
            }
            do {
                try use(answer)
            } catch {
                session.fail(error)
            }
        }
    }

    private static func tooLong(_ answer: CouchDBAnswer) -> KithError {
        KithError(.protocolViolation, "the answer to \(answer.request.shown) is longer than it may be")
    }

    /// Each row is read on its own, so that one that cannot be read stops no other.
    private func use(_ answer: CouchDBAnswer) throws {
        var names: [RevisionName] = []
        var rows: [(sequence: JSONValue, count: Int)] = []
        var refusals: [CouchDBRefusal] = []
        var last: JSONValue?
        var count = 0
        try answer.body.withUnsafeBytes { bytes in
            let members: [(name: String, range: Range<Int>)]
            do {
                members = try JSONOutline.members(of: bytes)
            } catch {
                throw KithError(.protocolViolation, "the answer to \(answer.request.shown) is not JSON")
            }
            func value(_ name: String) throws -> JSONValue? {
                try members.first { $0.name == name }.map {
                    try JSONValue(parsing: UnsafeRawBufferPointer(rebasing: bytes[$0.range]))
                }
            }
            guard let results = members.first(where: { $0.name == "results" })?.range,
                let position = try value("last_seq")
            else { throw KithError(.protocolViolation, "the answer to \(answer.request.shown) is no list of changes") }
            last = position
            pending = try value("pending")?.intValue
            for range in try JSONOutline.elements(of: bytes, in: results) {
                count += 1
                let row = try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: bytes[range]))
                let id = row?["id"]?.stringValue ?? ""
                do {
                    guard let row, let sequence = row["seq"], let changes = row["changes"]?.arrayValue else {
                        throw KithError(.badDocument, "the server's change cannot be read")
                    }
                    let document = try DocumentID(id)
                    var count = 0
                    // Each on its own: of two in conflict one may have a name that is none here.
                    for change in changes {
                        let text = change["rev"]?.stringValue ?? ""
                        do throws(KithError) {
                            names.append(RevisionName(id: document, revision: try RevisionID(parsing: text)))
                            count += 1
                        } catch {
                            refusals.append(.incoming(id, text, error))
                        }
                    }
                    rows.append((sequence, count))
                } catch {
                    let error = error as? KithError ?? KithError(.badDocument, "\(error)")
                    refusals.append(.incoming(id, row?["changes"]?[0]?["rev"]?.stringValue ?? "", error))
                }
            }
        }
        session.missingChecked += names.count
        session.counts.total += rows.count
        // A server that does not say how many are pending may give fewer than it was asked for; one that gives none and moves nothing
        // has none, whatever it says.
        let isEnd = pending == 0 || (count == 0 && (pending == nil || last == since))
        session.refuse(refusals) { [unowned self] in
            lookUp(names, rows, last: last ?? since, isEnd: isEnd, isEmpty: count == 0)
        }
    }

    private func lookUp(
        _ names: [RevisionName], _ rows: [(sequence: JSONValue, count: Int)], last: JSONValue, isEnd: Bool,
        isEmpty: Bool
    ) {
        guard !names.isEmpty else { return finishReading(last, isEnd: isEnd, isEmpty: isEmpty) }
        session.perform(.lookUp(names)) { [unowned self] result in
            guard case .lookups(let lookups) = result else { return session.storeFailed(result) }
            var next = 0
            for row in rows {
                let ticket = tracker.add(row.sequence, open: row.count)
                for index in next..<(next + row.count) {
                    guard case .missing(let ancestors) = lookups[index] else {
                        tracker.close(ticket)
                        continue
                    }
                    session.missingFound += 1
                    let wanted = WantedRevision(name: names[index], ticket: ticket, ancestors: ancestors)
                    queue.append(session.hasFailed(wanted.about) ? wanted.alone : wanted)
                }
                next += row.count
                session.counts.completed += 1
            }
            finishReading(last, isEnd: isEnd, isEmpty: isEmpty)
        }
    }

    private func finishReading(_ last: JSONValue, isEnd: Bool, isEmpty: Bool) {
        isReading = false
        // Who does not wait for changes is asked now and then, also when he moves without having any.
        if isCaughtUp, isEmpty {
            restsUntilSeconds = session.now.monotonicSeconds + limits.emptyAnswerRestSeconds
        }
        isCaughtUp = isEnd
        guard last != since else { return }
        since = last
        _ = tracker.add(last, open: 0)
    }

    // MARK: Fetching

    private func fetchNext() {
        while fetching < limits.fetchesMax, let first = queue.first {
            fetching += 1
            if first.isSingle || !usesBulkGet {
                queue.removeFirst()
                fetchSingle(first)
            } else {
                let batch = Array(queue.prefix(limits.revisionsPerFetchMax).prefix { !$0.isSingle })
                queue.removeFirst(batch.count)
                fetch(batch)
            }
        }
    }

    private func fetch(_ batch: [WantedRevision]) {
        let docs = batch.map { wanted in
            JSONValue(object: [
                ("id", .string(wanted.name.id.text)), ("rev", .string(wanted.name.revision.description)),
            ])
        }
        let body = JSONValue(object: [("docs", .array(docs))]).canonicalBytes()
        var request = CouchDBRequest("POST", "/_bulk_get?revs=true&latest=true", json: body)
        request.about = batch.map(\.about)
        session.send(request) { [unowned self] answer in
            if answer.isTooLong {
                fetching -= 1
                return queue.insert(contentsOf: batch.map(\.alone), at: 0)
            }
            if [400, 404, 405, 415, 501].contains(answer.status) {
                fetching -= 1
                usesBulkGet = false
                return queue.insert(contentsOf: batch, at: 0)
            }
            guard answer.isSuccess else { return session.end(answer) }
            do {
                take(batch, try CouchDBFetched.bulk(answer, batch))
            } catch {
                session.fail(error)
            }
        }
    }

    private func fetchSingle(_ wanted: WantedRevision) {
        let query = wanted.openRevisions + "&revs=true&latest=true"
        var request = CouchDBRequest("GET", CouchDBPath.document(wanted.name.id) + "?" + query)
        request.headers = [("Accept", "application/json")]
        request.about = [wanted.about]
        let exchange = session.send(request, bodyMax: limits.documentAnswerBytesMax) { [unowned self] answer in
            if answer.isTooLong { return take([wanted], [.refused(Self.tooLarge)]) }
            if answer.isMissing { return take([wanted], [.missing]) }
            if answer.status == 404, !answer.isAboutDatabase { return take([wanted], [.refused(answer.unexplained)]) }
            guard answer.isSuccess else { return session.end(answer) }
            do {
                take([wanted], [try CouchDBFetched.single(answer, wanted)])
            } catch {
                session.fail(error)
            }
        }
        exchange.onFailed = { [unowned self] error in take([wanted], [.refused(error)]) }
    }

    private static let tooLarge = KithError(
        .tooLarge, "the document has more than \(DocumentLimits.documentBytesMax) bytes")

    /// What became of each wanted revision.
    private func take(_ batch: [WantedRevision], _ fetched: [CouchDBFetched]) {
        var refusals: [CouchDBRefusal] = []
        var revisions: [IncomingRevision] = []
        var done: [WantedRevision] = []
        for (wanted, fetched) in zip(batch, fetched) {
            switch fetched {
            case .missing:
                refusals += missing(wanted)
                done.append(wanted)
            case .refused(let error):
                refusals.append(
                    .incoming(wanted.name.id.text, wanted.name.revision.description, error))
                done.append(wanted)
            case .documents(let documents):
                if documents.contains(where: { !($0.attachments ?? []).isEmpty }) {
                    attachments.fetch(wanted)
                    continue
                }
                revisions += documents.compactMap { Self.incoming($0, of: wanted.name.id) }
                done.append(wanted)
            }
        }
        store(revisions, refusals, of: done) { [unowned self] in
            fetching -= 1
            close(done)
        }
    }

    /// What is noted of a revision that the server names and has not got. The first time it is asked for again when replication begins the
    /// next time; what is missing then as well was purged there.
    func missing(_ wanted: WantedRevision) -> [CouchDBRefusal] {
        guard wanted.ticket != nil else { return [] }
        let error = KithError(.notFound, "the server names this revision and has not got it")
        return [.incoming(wanted.name.id.text, wanted.name.revision.description, error)]
    }

    static func incoming(
        _ parts: DocumentParts, of id: DocumentID, attachments: AttachmentList = AttachmentList()
    ) -> IncomingRevision? {
        guard let revision = parts.revision else { return nil }
        return IncomingRevision(
            id: id, revision: revision, history: parts.history ?? [],
            isDeleted: parts.isDeleted, body: parts.body, attachments: attachments)
    }

    /// Stores revisions, and notes what is not stored; goes on when both are durable.
    ///
    /// - Parameter wanted: what was asked for: what was refused of it before, and is not now, is forgotten.
    func store(
        _ revisions: [IncomingRevision], _ refusals: [CouchDBRefusal], of wanted: [WantedRevision],
        then done: @escaping () -> Void
    ) {
        guard !revisions.isEmpty else { return note(refusals, of: wanted, then: done) }
        session.perform(.insert(revisions)) { [unowned self] result in
            guard case .inserted(let outcomes) = result else { return session.storeFailed(result) }
            var refusals = refusals
            var taken: [RevisionName] = []
            for (revision, outcome) in zip(revisions, outcomes) {
                switch outcome {
                case .success: taken.append(RevisionName(id: revision.id, revision: revision.revision))
                case .failure(let error):
                    refusals.append(.incoming(revision.id.text, revision.revision.description, error))
                }
            }
            session.counts.revisionsReceived += taken.count
            session.accepted(taken, isOutgoing: false)
            note(refusals, of: wanted, then: done)
        }
    }

    private func note(_ refusals: [CouchDBRefusal], of wanted: [WantedRevision], then done: @escaping () -> Void) {
        let again = wanted.filter { wanted in
            wanted.ticket == nil && !refusals.contains { $0.id.utf8.elementsEqual(wanted.name.id.text.utf8) }
        }
        session.accepted(again.map(\.name), isOutgoing: false)
        session.refuse(refusals, then: done)
    }

    func close(_ wanted: [WantedRevision]) {
        for one in wanted { if let ticket = one.ticket { tracker.close(ticket) } }
    }
}
