import KithDocuments
import KithStore

/// Sends the server what it lacks: changes here, `_revs_diff`, then `_bulk_docs` with revisions as they are.
final class CouchDBPusher {
    private unowned let session: CouchDBReplicator
    private var limits: CouchDBLimits { session.limits }
    private var tracker: SequenceTracker<UInt64>
    /// Where checkpoints stay; nothing is behind it where that is nowhere.
    private var held: UInt64??
    /// Everything up to here was read.
    private var since: UInt64
    /// Where a session that ends by itself ends; moved once, for what changed before it was looked at.
    private var through: UInt64?
    private var hasMoved = false
    private var hasReadAll = false
    /// Whether something has changed since the read under way began.
    private var hasNews = false
    private var isReading = false
    private var isSending = false
    /// Documents that were refused before, until they are read.
    private var retrying: [DocumentID]
    /// What the server lacks, in order.
    private var queue: [Item] = []
    /// What is sent alone, since something in a request with several was refused as a whole.
    private var single: [Item] = []
    /// Changes behind what was read.
    private var unread: Int?

    private struct Item {
        let revision: OutgoingRevision
        /// What of the tracker waits for it; `nil` for one that was refused before.
        let ticket: Int?
        var name: RevisionName { revision.name }
        /// How it is counted when a request about it fails.
        var about: CouchDBConfiguration.RefusedRevision { .init(name: name, isOutgoing: true) }
    }

    init(session: CouchDBReplicator, since: UInt64) {
        self.session = session
        self.since = since
        tracker = SequenceTracker(completed: since == 0 ? nil : since)
        retrying = session.configuration.refusedBefore.filter(\.isOutgoing).map(\.name.id)
    }

    /// How far everything is with the server.
    var completed: UInt64? { if let held { held } else { tracker.completed } }
    var sentThrough: UInt64 { tracker.completed ?? 0 }
    /// Whether nothing is left to do now.
    var isIdle: Bool { hasReadAll && !isReading && !isSending && queue.isEmpty && single.isEmpty && tracker.count == 0 }
    /// Documents that are not with the server; `nil` while that is not counted.
    var remaining: Int? { unread.map { $0 + tracker.count } }

    /// Checkpoints go no further: something behind is noted nowhere.
    func hold() { if held == nil { held = .some(tracker.completed) } }

    /// The database has changed. A session that ends by itself ends where the database was when it looked.
    func noteChange() {
        guard session.configuration.isContinuous else { return }
        (hasReadAll, hasNews) = (false, true)
    }

    func advance() {
        sendNext()
        guard !isReading, !hasReadAll || !retrying.isEmpty, queue.count + single.count < limits.changesPerComparisonMax
        else { return }
        isReading = true
        hasNews = false
        if !retrying.isEmpty {
            let ids = retrying
            retrying = []
            return session.perform(.readDocuments(ids)) { [unowned self] result in
                read(result) { [unowned self] changes in compare(changes, tracked: false) }
            }
        }
        if let ids = session.configuration.documentIDs {
            return session.perform(.readDocuments(ids.sorted())) { [unowned self] result in
                // The few documents are read whole each time; what is up to `since` has been sent.
                let before = since
                read(result) { [unowned self] changes in
                    let new = changes.filter { $0.sequence > before }
                    (hasReadAll, unread) = (!hasNews, 0)
                    compare(new, tracked: true)
                }
            }
        }
        session.perform(.readChanges(since: since, limit: limits.changesPerComparisonMax, counts: true)) {
            [unowned self] result in
            guard let (changes, _, remaining, last) = result.sendableChanges else {
                return session.storeFailed(result)
            }
            unread = remaining
            if through == nil, !session.configuration.isContinuous { through = last }
            since = changes.last?.sequence ?? since
            if changes.isEmpty {
                hasReadAll = !hasNews
            } else if let end = through, since >= end {
                if hasMoved { hasReadAll = true } else { (through, hasMoved) = (last, true) }
                if last == since { hasReadAll = true }
            }
            session.counts.total += changes.count
            compare(changes, tracked: true)
        }
    }

    private func read(_ result: StoreResult, _ use: ([Change]) -> Void) {
        guard let (changes, _, _, last) = result.sendableChanges else { return session.storeFailed(result) }
        session.counts.total += changes.count
        use(changes)
        if session.configuration.documentIDs != nil, hasReadAll { since = max(since, last) }
    }

    // MARK: Comparing

    private func compare(_ changes: [Change], tracked: Bool) {
        guard !changes.isEmpty else {
            isReading = false
            return
        }
        var question: [(String, JSONValue)] = []
        var tickets: [Int?] = []
        for change in changes {
            let leaves = change.leaves
            tickets.append(tracked ? tracker.add(change.sequence, open: leaves.count) : nil)
            question.append((change.id.text, CouchDBPath.list(leaves.map(\.revision))))
            session.missingChecked += leaves.count
        }
        let body = JSONValue(object: question).canonicalBytes()
        session.send(CouchDBRequest("POST", "/_revs_diff", json: body)) { [unowned self] answer in
            isReading = false
            guard answer.isSuccess else { return session.end(answer) }
            do {
                let value = try answer.json()
                guard let lacking = value.objectValue else {
                    throw KithError(.protocolViolation, "the answer to \(answer.request.shown) is not an object")
                }
                for (change, ticket) in zip(changes, tickets) { queue(change, ticket, lacking[change.id.text]) }
            } catch {
                session.fail(error)
            }
        }
    }

    private func queue(_ change: Change, _ ticket: Int?, _ answer: JSONValue?) {
        let missing = Set((answer?["missing"]?.arrayValue ?? []).compactMap(Self.revision))
        let ancestors = (answer?["possible_ancestors"]?.arrayValue ?? []).prefix(limits.historyMax)
            .compactMap(Self.revision)
        var known: [RevisionName] = []
        for leaf in change.leaves {
            let name = RevisionName(id: change.id, revision: leaf.revision)
            guard missing.contains(leaf.revision) else {
                known.append(name)
                close(ticket)
                continue
            }
            session.missingFound += 1
            let item = Item(
                revision: OutgoingRevision(
                    name: name, sequence: change.sequence, ticket: ticket ?? 0, ancestors: ancestors,
                    historyMax: limits.historyMax, replacesGone: false), ticket: ticket)
            if session.hasFailed(item.about) { single.append(item) } else { queue.append(item) }
        }
        session.accepted(known, isOutgoing: true)
        session.counts.completed += missing.isEmpty ? 1 : 0
    }

    private static func revision(_ value: JSONValue) -> RevisionID? {
        value.stringValue.flatMap { try? RevisionID(parsing: $0) }
    }

    // MARK: Sending

    private func sendNext() {
        guard !isSending else { return }
        let items: [Item]
        let isSingle = !single.isEmpty
        if let item = single.first {
            single.removeFirst()
            items = [item]
        } else if !queue.isEmpty {
            items = Array(queue.prefix(limits.documentsPerRequestMax))
        } else {
            return
        }
        isSending = true
        session.perform(
            .readRevisions(items.map(\.revision), bytesMax: limits.documentBytesPerRequestMax)
        ) { [unowned self] result in
            guard case .revisions(let revisions) = result else { return session.storeFailed(result) }
            if !isSingle { queue.removeFirst(min(revisions.count, queue.count)) }
            sendAll(Array(zip(items, revisions)))
        }
    }

    private func sendAll(_ found: [(Item, Result<RevisionForTransfer?, KithError>)]) {
        var refusals: [CouchDBRefusal] = []
        var refused: [Item] = []
        var documents: [(Item, RevisionForTransfer)] = []
        for (item, result) in found {
            switch result {
            // A newer revision has its place, under a later sequence.
            case .success(nil): finish([item])
            case .success(let revision?):
                documents.append((item, revision))
            case .failure(let error):
                refused.append(item)
                refusals.append(Self.refusal(item, isByPeer: false, error.code.httpStatus, error.message))
            }
        }
        session.refuse(refusals) { [unowned self] in
            finish(refused)
            post(documents)
        }
    }

    private func post(_ documents: [(Item, RevisionForTransfer)]) {
        let withAttachments = documents.filter { !$0.1.attachments.isEmpty }
        let plain = documents.filter { $0.1.attachments.isEmpty }
        guard !plain.isEmpty else { return postWithAttachments(withAttachments[...]) }
        var body = Array("{\"new_edits\":false,\"docs\":[".utf8)
        for (index, (item, revision)) in plain.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            CouchDBDocument.append(revision, knowing: item.revision.ancestors, max: limits.historyMax, to: &body)
        }
        body.append(contentsOf: "]}".utf8)
        var request = CouchDBRequest("POST", "/_bulk_docs", json: body)
        request.about = plain.map(\.0.about)
        let exchange = session.send(request) { [unowned self] answer in
            if [400, 413].contains(answer.status) {
                // Something in it is more than the server takes: it tells of what when they come one by one.
                if plain.count > 1 {
                    single.append(contentsOf: plain.map(\.0))
                    return postWithAttachments(withAttachments[...])
                }
                return refuse(plain[0].0, answer) { [unowned self] in postWithAttachments(withAttachments[...]) }
            }
            guard answer.isSuccess else { return session.end(answer) }
            do {
                guard let failures = try answer.json().arrayValue else {
                    throw KithError(.protocolViolation, "the answer to \(answer.request.shown) is not an array")
                }
                taken(plain.map(\.0), failures) { [unowned self] in postWithAttachments(withAttachments[...]) }
            } catch {
                session.fail(error)
            }
        }
        exchange.onFailed = { [unowned self] error in
            refuse(plain[0].0, error, isByPeer: true) { [unowned self] in
                postWithAttachments(withAttachments[...])
            }
        }
    }

    /// With `new_edits` false only what failed is answered; each entry names its document.
    private func taken(_ items: [Item], _ answers: [JSONValue], then done: @escaping () -> Void) {
        var refusals: [CouchDBRefusal] = []
        var failed: Set<RevisionName> = []
        for answer in answers where answer["error"] != nil {
            let id = answer["id"]?.stringValue
            let revision = answer["rev"]?.stringValue
            let named = items.first { item in
                item.name.id.text.utf8.elementsEqual((id ?? "").utf8)
                    && (revision == nil || item.name.revision.description == revision)
            }
            guard let item = items.count == 1 ? items[0] : named else {
                // Nobody knows which of them it is about: it shows when they come one by one.
                single.append(contentsOf: items)
                return done()
            }
            guard failed.insert(item.name).inserted else { continue }
            let error = answer["error"]?.stringValue ?? ""
            let reason = [error, answer["reason"]?.stringValue ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
            refusals.append(Self.refusal(item, isByPeer: true, Self.status(of: error), reason))
        }
        let sent = items.filter { !failed.contains($0.name) }
        session.counts.revisionsSent += sent.count
        session.accepted(sent.map(\.name), isOutgoing: true)
        session.refuse(refusals) { [unowned self] in
            finish(items)
            done()
        }
    }

    private func refuse(
        _ item: Item, _ error: KithError, isByPeer: Bool, then done: @escaping () -> Void
    ) {
        session.refuse([Self.refusal(item, isByPeer: isByPeer, error.code.httpStatus, error.message)]) {
            [unowned self] in
            finish([item])
            done()
        }
    }

    private func refuse(_ item: Item, _ answer: CouchDBAnswer, then done: @escaping () -> Void) {
        let reason = answer.reason.isEmpty ? "the server answered \(answer.status)" : answer.reason
        session.refuse([Self.refusal(item, isByPeer: true, answer.status, reason)]) { [unowned self] in
            finish([item])
            done()
        }
    }

    /// Documents with attachments go one by one.
    private func postWithAttachments(_ documents: ArraySlice<(Item, RevisionForTransfer)>, sendsAll: Bool = false) {
        guard let (item, revision) = documents.first else {
            isSending = false
            return
        }
        let upload = CouchDBUpload(
            session: session, revision, knowing: item.revision.ancestors, sendsAll: sendsAll
        ) { [unowned self] outcome in
            let answer: CouchDBAnswer
            switch outcome {
            case .answered(let given): answer = given
            case .gone:
                finish([item])
                return postWithAttachments(documents.dropFirst())
            case .unreadable(let error):
                return refuse(item, error, isByPeer: false) { [unowned self] in
                    postWithAttachments(documents.dropFirst())
                }
            case .failed(let error):
                return refuse(item, error, isByPeer: true) { [unowned self] in
                    postWithAttachments(documents.dropFirst())
                }
            }
            switch answer.status {
            case 200...299:
                session.counts.revisionsSent += 1
                session.accepted([item.name], isOutgoing: true)
                finish([item])
                postWithAttachments(documents.dropFirst())
            case 412 where !sendsAll: postWithAttachments(documents, sendsAll: true)
            // What is wrong with this document; what is wrong with the server ends the session.
            case 400, 403, 409, 412, 413, 415, 417, 422:
                refuse(item, answer) { [unowned self] in postWithAttachments(documents.dropFirst()) }
            default: session.end(answer)
            }
        }
        upload.begin()
    }

    private func finish(_ items: [Item]) {
        for item in items { close(item.ticket) }
        session.counts.completed += items.count
    }

    private func close(_ ticket: Int?) { if let ticket { tracker.close(ticket) } }

    private static func refusal(_ item: Item, isByPeer: Bool, _ code: Int, _ reason: String) -> CouchDBRefusal {
        CouchDBRefusal(
            id: item.name.id.text, revision: item.name.revision.description, isOutgoing: true, isByPeer: isByPeer,
            code: code, reason: reason)
    }

    /// The status that CouchDB answers such an error with where it stands alone.
    private static func status(of error: String) -> Int {
        switch error {
        case "forbidden": 403
        case "unauthorized": 401
        case "conflict": 409
        case "missing_stub": 412
        case "too_large", "document_too_large", "attachment_too_large": 413
        case "bad_request", "doc_validation", "illegal_docid": 400
        default: 500
        }
    }
}
