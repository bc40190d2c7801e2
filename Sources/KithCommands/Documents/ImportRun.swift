import KithDocuments

/// Sends documents to a database in batches, and keeps account of what became of each.
///
/// A document without `_rev` is new. One with `_rev`, as an export has it, is an edit of that revision where the
/// database knows it, and keeps its revision where the database does not know the document: so an export that is
/// imported elsewhere has the same revisions, and importing it once more changes nothing.
final class ImportRun {
    private struct Item {
        let line: Int
        let id: String
        let revision: String?
        let bytes: [UInt8]
    }

    private let client: NodeClient
    private let database: String
    private let console: Console
    private let keepsRevisions: Bool
    private var isNewDatabase = false
    private var pending: [Item] = []
    private var pendingBytes = 0
    private var progress: ProgressLine
    private var shownErrors = 0
    private(set) var stored = 0
    private(set) var alreadyThere = 0
    private(set) var conflicts = 0
    private(set) var refused = 0
    private var firstRefusal: ErrorCode?

    /// - Throws: `KithError` (database_not_found).
    init(_ client: NodeClient, database: String, console: Console, keepsRevisions: Bool) throws {
        self.client = client
        self.database = database
        self.console = console
        self.keepsRevisions = keepsRevisions
        progress = ProgressLine(console)
        let state = try Explanation.about(database) { try client.json(NodeRequest("GET", [database])) }
        isNewDatabase = state["update_seq"]?.int64Value == 0
    }

    /// The exit code that tells how it went.
    var exitCode: Int32 {
        if let firstRefusal {
            let isDocumentFault = [.badDocument, .badName, .tooLarge].contains(firstRefusal)
            return isDocumentFault ? ErrorCode.badDocument.exitCode : firstRefusal.exitCode
        }
        return conflicts > 0 ? ErrorCode.conflict.exitCode : ExitStatus.success
    }

    /// Takes a document; sends a batch when it is full.
    func add(_ bytes: [UInt8], line: Int) throws {
        do {
            guard bytes.count <= CommandLimits.documentBytesMax else {
                throw KithError(
                    .tooLarge, "the document is larger than \(Quantity.bytes(CommandLimits.documentBytesMax))")
            }
            let value = try JSONValue(parsing: bytes, bytesMax: CommandLimits.documentBytesMax)
            guard value.objectValue != nil else { throw KithError(.badDocument, "a document is a JSON object") }
            guard let id = value["_id"]?.stringValue else {
                throw KithError(.badDocument, "the document has no \"_id\"")
            }
            _ = try DocumentID(id)
            let item = Item(line: line, id: id, revision: value["_rev"]?.stringValue, bytes: bytes)
            if pendingBytes + bytes.count > CommandLimits.importBatchBytes { try sendPending() }
            pending.append(item)
            pendingBytes += bytes.count
            if pending.count >= CommandLimits.importBatchDocuments { try sendPending() }
        } catch let error as KithError where [.badDocument, .badName, .tooLarge].contains(error.code) {
            refuse(error.code, line: line, id: nil, error.message)
        }
    }

    /// Counts what cannot be read any further.
    func refuse(_ fault: JSONElementSplitter.Fault, line: Int) {
        let reason =
            switch fault {
            case .tooLarge: "the document is too large"
            case .malformed: "this is not a JSON array"
            case .incomplete: "the JSON array ends too early"
            }
        refuse(fault == .tooLarge ? .tooLarge : .badDocument, line: line, id: nil, reason)
    }

    /// Sends what is left.
    func finish() throws {
        try sendPending()
        progress.clear()
        if shownErrors < refused + conflicts {
            console.note(
                "and \(Quantity.of(refused + conflicts - shownErrors, "more document")) that could not be stored")
        }
    }

    /// Removes the progress from the screen, before an error is printed.
    func clearProgress() { progress.clear() }

    // MARK: Batches

    private func sendPending() throws {
        guard !pending.isEmpty else { return }
        let items = pending
        pending = []
        pendingBytes = 0
        var edits: [Item] = []
        var kept: [Item] = []
        for item in items {
            switch try plan(item) {
            case .edit: edits.append(item)
            case .keep: kept.append(item)
            case .none: alreadyThere += 1
            }
        }
        try send(edits, keepingRevisions: false)
        try send(kept, keepingRevisions: true)
        progress.show("\(Quantity.of(stored + alreadyThere, "document")) imported")
    }

    private enum Plan { case edit, keep, none }

    private func plan(_ item: Item) throws -> Plan {
        guard let revision = item.revision else { return .edit }
        if keepsRevisions || isNewDatabase { return .keep }
        let address = try DocumentAddress(database: database, document: item.id)
        do {
            if let known = try client.document(address, revision: revision) {
                return try isSame(known, item) ? .none : .edit
            }
        } catch let error as KithError where error.code == .badName || error.code == .badRequest {
            // Not a revision ID: the store says so with the document's line.
            return .edit
        }
        // A pattern and not `== nil`, which would compare with JSON's null.
        if case .some = try client.document(address) { return .edit }
        return .keep
    }

    private func send(_ items: [Item], keepingRevisions: Bool) throws {
        guard !items.isEmpty else { return }
        var body = Array((keepingRevisions ? "{\"new_edits\":false,\"docs\":[" : "{\"docs\":[").utf8)
        for (index, item) in items.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += item.bytes
        }
        body += Array("]}".utf8)
        let answer: JSONValue
        do {
            answer = try client.json(NodeRequest("POST", [database, "_bulk_docs"], body: body))
        } catch let error as KithError where error.code == .notImplemented && keepingRevisions && !keepsRevisions {
            // A node that cannot keep them: the documents are new there, which their bodies survive.
            return try send(items.map(Self.withoutRevision), keepingRevisions: false)
        }
        guard let results = answer.arrayValue else { throw ConnectionFailure.garbage("an answer that is not a list") }
        if results.count == items.count {
            for (item, result) in zip(items, results) { try account(item, result) }
            return
        }
        // CouchDB answers to kept revisions with the failures only.
        guard keepingRevisions else { throw ConnectionFailure.garbage("an answer with another number of documents") }
        for item in items {
            let failure = results.first { $0["id"]?.stringValue.map { DisplayText.same($0, item.id) } ?? false }
            try account(item, failure ?? ["ok": true])
        }
    }

    private static func withoutRevision(_ item: Item) throws -> Item {
        var document = try JSONValue(parsing: item.bytes, bytesMax: CommandLimits.documentBytesMax)
        document["_rev"] = Optional.none
        return Item(line: item.line, id: item.id, revision: nil, bytes: document.canonicalBytes())
    }

    private func account(_ item: Item, _ result: JSONValue) throws {
        guard let name = RemoteError.name(result) else {
            stored += 1
            return
        }
        let reason = result["reason"]?.stringValue ?? name
        if ErrorCode.named(name) == .conflict {
            let address = try DocumentAddress(database: database, document: item.id)
            if let current = try client.document(address), try isSame(current, item) {
                alreadyThere += 1
            } else {
                conflicts += 1
                show(line: item.line, id: item.id, item.revision == nil ? "another version of it is there" : reason)
            }
            return
        }
        refuse(ErrorCode.named(name) ?? .badDocument, line: item.line, id: item.id, reason)
    }

    private func isSame(_ stored: JSONValue, _ item: Item) throws -> Bool {
        let own = try JSONValue(parsing: item.bytes, bytesMax: CommandLimits.documentBytesMax)
        let isDeleted = { (value: JSONValue) in value["_deleted"]?.boolValue ?? false }
        return isDeleted(stored) == isDeleted(own) && DocumentText.body(stored) == DocumentText.body(own)
    }

    private func refuse(_ code: ErrorCode, line: Int, id: String?, _ reason: String) {
        refused += 1
        if firstRefusal == nil { firstRefusal = code }
        show(line: line, id: id, reason)
    }

    private func show(line: Int, id: String?, _ reason: String) {
        guard shownErrors < CommandLimits.importErrorsShown else { return }
        shownErrors += 1
        progress.clear()
        let name = id.map { DisplayText.safe($0) + ": " } ?? ""
        console.note("kith: line \(line): \(name)\(DisplayText.safe(reason))")
    }
}
