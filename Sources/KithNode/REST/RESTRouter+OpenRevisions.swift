import KithDocuments
import KithStore
import KithTransport
import KithWire

extension RESTRouter {
    /// Which revisions of a document are asked for.
    private enum Wanted: Sendable {
        case leaves
        case these([String])
    }

    /// A revision that was asked for; without an ID it is not here.
    private struct Answer: Sendable {
        let text: String
        let revision: RevisionID?
    }

    /// `GET /DATABASE/DOCUMENT?open_revs=`: revisions, each whole, one after the other.
    func openRevisions(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let request = exchange.request
        let view = try DocumentView(request)
        let wanted = try Self.wanted(request.query["open_revs"] ?? "all")
        let isLatest = try request.flag("latest")
        let answers = try await keyspace.read { snapshot in try Self.answers(id, wanted, isLatest, snapshot) }
        guard let answers else { throw CouchDBError.missing() }
        let boundary = request.accepts("multipart/mixed") ? RESTDocument.newID() : nil
        exchange.startStream(
            contentType: boundary.map { "multipart/mixed; boundary=\"\($0)\"" } ?? "application/json")
        do {
            if boundary == nil { await exchange.send([UInt8(ascii: "[")]) }
            for (index, answer) in answers.enumerated() where !exchange.isClosed {
                let content = try await keyspace.read { snapshot in
                    let document = try answer.revision.flatMap { try snapshot.document(id, revision: $0) }
                    return try Self.content(answer, document, view, snapshot, boundary: boundary)
                }
                if boundary == nil, index > 0 { await exchange.send([UInt8(ascii: ",")]) }
                try await exchange.send(content, from: keyspace)
            }
            await exchange.send(boundary.map { Array("--\($0)--".utf8) } ?? Array("]\n".utf8))
        } catch {
            return exchange.breakStream()
        }
        exchange.endStream()
    }

    private static func wanted(_ text: String) throws(KithError) -> Wanted {
        if text == "all" { return .leaves }
        guard let items = (try? JSONValue(parsing: Array(text.utf8)))?.arrayValue else {
            throw KithError(.badRequest, "open_revs must be all or a JSON list of revisions")
        }
        return .these(
            try items.map { item throws(KithError) in
                guard let text = item.stringValue else {
                    throw KithError(.badRequest, "open_revs must be all or a JSON list of revisions")
                }
                // It must be one, also where it is not here.
                _ = try RevisionID(parsing: text)
                return text
            })
    }

    /// - Returns: nil when all leaves are asked for of a document that is not here.
    private nonisolated static func answers(
        _ id: DocumentID, _ wanted: Wanted, _ isLatest: Bool, _ snapshot: Snapshot
    ) throws -> [Answer]? {
        let tree = try snapshot.revisionTree(id)
        switch wanted {
        case .leaves: return tree?.leaves.map { Answer(text: $0.revision.description, revision: $0.revision) }
        case .these(let texts):
            var answers: [Answer] = []
            for text in texts {
                guard let tree, let revision = try? RevisionID(parsing: text), tree.contains(revision) else {
                    answers.append(Answer(text: text, revision: nil))
                    continue
                }
                let found = isLatest ? leaves(of: revision, in: tree) : [revision]
                for one in found where !answers.contains(where: { $0.revision == one }) {
                    answers.append(Answer(text: one.description, revision: one))
                }
            }
            return answers
        }
    }

    private nonisolated static func content(
        _ answer: Answer, _ document: StoredDocument?, _ view: DocumentView, _ snapshot: Snapshot, boundary: String?
    ) throws -> RESTContent {
        guard let document else {
            let missing = RESTContent(JSONValue(object: [("missing", .string(answer.text))]).canonicalBytes())
            guard let boundary else { return missing }
            return MultipartAnswer.part(missing, contentType: "application/json; error=\"true\"", boundary: boundary)
        }
        if let boundary {
            let (content, contentType) = try MultipartAnswer.related(document, view, snapshot)
            return MultipartAnswer.part(content, contentType: contentType, boundary: boundary)
        }
        var content = RESTContent()
        content.append("{\"ok\":")
        try view.append(document, snapshot, to: &content)
        content.append("}")
        return content
    }

    // MARK: _bulk_get

    private struct BulkGetItem: Sendable {
        var id: String
        var revision: String?
        var view: DocumentView
    }

    /// `POST /DATABASE/_bulk_get`: revisions of many documents; what is wrong with one is said in its place.
    func bulkGet(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        let view = try DocumentView(request)
        let isLatest = try request.flag("latest")
        guard let list = try request.jsonObject()["docs"]?.arrayValue else {
            throw KithError(.badRequest, "Missing JSON list of 'docs'")
        }
        let items = try list.map { item throws(KithError) in
            guard let id = item["id"]?.stringValue else {
                throw KithError(.badRequest, "each of docs must be an object with an id")
            }
            var view = view
            if let since = item["atts_since"], since != .null {
                view.attachmentsSince = try DocumentView.revisions(since, "atts_since")
            }
            return BulkGetItem(id: id, revision: item["rev"]?.stringValue, view: view)
        }
        exchange.startStream()
        await exchange.send(Array("{\"results\":[".utf8))
        do {
            var next = 0
            while next < items.count, !exchange.isClosed {
                let rest = items[next...]
                let (content, count) = try await keyspace.read { snapshot in
                    var content = RESTContent()
                    var count = 0
                    for item in rest where content.heldByteCount < NodeLimits.pageBytesMax {
                        if count + rest.startIndex > 0 { content.append(",") }
                        try Self.append(item, isLatest, snapshot, to: &content)
                        count += 1
                    }
                    return (content, count)
                }
                try await exchange.send(content, from: keyspace)
                next += count
            }
        } catch {
            return exchange.breakStream()
        }
        await exchange.send(Array("]}\n".utf8))
        exchange.endStream()
    }

    private nonisolated static func append(
        _ item: BulkGetItem, _ isLatest: Bool, _ snapshot: Snapshot, to content: inout RESTContent
    ) throws {
        content.append("{\"id\":")
        content.append(jsonString: item.id)
        content.append(",\"docs\":[")
        func append(_ error: CouchDBError) {
            content.append("{\"error\":")
            content.append(
                json: JSONValue(
                    object: [("id", .string(item.id)), ("rev", .string(item.revision ?? "undefined"))] + error.members))
            content.append("}")
        }
        do {
            let id = try naming("illegal_docid") { () throws(KithError) in try DocumentID(item.id) }
            if let text = item.revision { _ = try RevisionID(parsing: text) }
            let answers = try answers(id, item.revision.map { .these([$0]) } ?? .leaves, isLatest, snapshot) ?? []
            if answers.isEmpty { append(.missing()) }
            for (index, answer) in answers.enumerated() {
                if index > 0 { content.append(",") }
                if let document = try answer.revision.flatMap({ try snapshot.document(id, revision: $0) }) {
                    content.append("{\"ok\":")
                    try item.view.append(document, snapshot, to: &content)
                    content.append("}")
                } else {
                    append(.missing())
                }
            }
        } catch let error as CouchDBError {
            append(error)
        } catch let error as KithError where error.code == .badName {
            append(CouchDBError(error))
        }
        content.append("]}")
    }
}
