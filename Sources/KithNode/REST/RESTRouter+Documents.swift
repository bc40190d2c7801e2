import KithDocuments
import KithStore
import KithTransport
import KithWire

extension RESTRouter {
    /// `/DATABASE/DOCUMENT`.
    func document(_ exchange: RESTExchange, _ keyspace: Keyspace, _ text: String) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE", "COPY")
        let id = try naming("illegal_docid") { () throws(KithError) in try DocumentID(text) }
        switch request.method {
        case "PUT": try await put(exchange, keyspace, id)
        case "DELETE": try await delete(exchange, keyspace, id)
        case "COPY": try await copy(exchange, keyspace, id)
        default:
            if request.query["open_revs"] != nil { return try await openRevisions(exchange, keyspace, id) }
            try await get(exchange, keyspace, id)
        }
    }

    // MARK: Reading

    private enum Found: Sendable {
        case notModified(tag: String)
        case content(RESTContent, contentType: String, tag: String?)
    }

    private func get(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let request = exchange.request
        let view = try DocumentView(request)
        let wanted = try request.query["rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        let isLatest = try request.flag("latest")
        let asParts = view.attachments == .inline && request.accepts("multipart/related")
        let found = try await keyspace.read { snapshot -> Found in
            var revision = wanted
            if isLatest, let wanted, let tree = try snapshot.revisionTree(id) {
                revision = Self.leaves(of: wanted, in: tree).first ?? wanted
            }
            guard let document = try snapshot.document(id, revision: revision) else { throw CouchDBError.missing() }
            guard wanted != nil || !document.isDeleted else { throw CouchDBError.missing("deleted") }
            let tag = view.hasMeta ? nil : "\"\(document.revision)\""
            if let tag, request.hasTag(tag) { return .notModified(tag: tag) }
            if asParts {
                let (content, contentType) = try MultipartAnswer.related(document, view, snapshot)
                return .content(content, contentType: contentType, tag: tag)
            }
            var content = try view.content(document, snapshot)
            content.append("\n")
            return .content(content, contentType: "application/json", tag: tag)
        }
        switch found {
        case .notModified(let tag): exchange.respond(.notModified(tag))
        case .content(let content, let contentType, let tag):
            await exchange.respond(
                200, content, contentType: contentType, headers: tag.map { [("ETag", $0)] } ?? [], from: keyspace)
        }
    }

    /// The leaves that descend from a revision, or itself where it is one, the best first.
    nonisolated static func leaves(of revision: RevisionID, in tree: RevisionTree) -> [RevisionID] {
        if tree.isLeaf(revision) { return [revision] }
        let leaves = tree.leaves.map(\.revision).filter { tree.history(of: $0).contains(revision) }
        return leaves.isEmpty ? tree.supersession(of: revision).map { [$0.leaf] } ?? [] : leaves
    }

    // MARK: Writing

    /// Reads the text of a document; a long one, with attachments in it, beside the event loop, which all links share.
    static func document(_ text: [UInt8]) async throws -> RESTDocument {
        if text.count <= NodeLimits.parsedOnLoopBytesMax { return try RESTDocument.reading(text) }
        return try await EventLoop.beside { try RESTDocument.reading(text) }
    }

    private func put(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let document =
            exchange.body == nil
            ? try await Self.document(exchange.request.body)
            : try await receiveDocument(exchange, keyspace)
        try await write(document, as: id, exchange, keyspace)
    }

    /// `POST /DATABASE`: a document whose ID is in it, or is made.
    func post(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        try exchange.request.requireJSON()
        let document = try await Self.document(exchange.request.body)
        try await write(document, as: document.id ?? DocumentID(RESTDocument.newID()), exchange, keyspace)
    }

    private func write(
        _ document: RESTDocument, as id: DocumentID, _ exchange: RESTExchange, _ keyspace: Keyspace
    ) async throws {
        let request = exchange.request
        try exchange.checkWriting(id)
        // An `_id` in the body says nothing beside the path's, as in CouchDB: clients send a part of it, or that of a copy.
        var parent = document.revision
        if let named = try request.revision() {
            if let parent, parent != named { throw KithError(.badRequest, "rev and _rev in the body are not the same") }
            parent = named
        }
        let keepsRevision = try request.optionalFlag("new_edits") == false
        let written = try await keyspace.write(exchange.revocation) { [parent] transaction in
            keepsRevision
                ? try document.insert(id, in: transaction) : try document.put(id, parent: parent, in: transaction)
        }
        // It is durable already; who asked for less is told what CouchDB tells.
        exchange.respond(Self.written(request.query["batch"] == "ok" ? 202 : 201, request, id, written))
    }

    private func delete(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let parent = try exchange.request.revision()
        let written = try await keyspace.write(exchange.revocation) { transaction in
            guard let winner = try transaction.winner(of: id) else { throw CouchDBError.missing() }
            guard let parent else {
                guard !winner.isDeleted else { throw CouchDBError.missing("deleted") }
                throw KithError(
                    .conflict, "the revision to delete is missing", remedy: "Name the current one: ?rev=REVISION")
            }
            do {
                return try transaction.delete(id, parent: parent).revision
            } catch ErrorCode.notFound {
                throw CouchDBError.missing("deleted")
            }
        }
        exchange.respond(Self.written(200, exchange.request, id, written))
    }

    private func copy(_ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID) async throws {
        let request = exchange.request
        guard let destination = request.headers["Destination"], let target = HTTPTarget("/" + destination),
            !target.segments.isEmpty
        else {
            throw KithError(.badRequest, "Destination must be the ID of the copy, percent-encoded")
        }
        guard !["http://", "https://"].contains(where: { destination.lowercased().hasPrefix($0) }) else {
            throw KithError(.badRequest, "Destination URL must be relative")
        }
        let source = try request.query["rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        let parent = try target[query: "rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        let copy = try naming("illegal_docid") { () throws(KithError) in
            try DocumentID(target.segments.joined(separator: "/"))
        }
        try exchange.checkWriting(copy)
        let written = try await keyspace.write(exchange.revocation) { transaction in
            guard let document = try transaction.document(id, revision: source) else { throw CouchDBError.missing() }
            guard source != nil || !document.isDeleted else { throw CouchDBError.missing("deleted") }
            let before = try parent ?? transaction.winner(of: copy)?.revision
            let generation = (before?.generation ?? 0) + 1
            // They are new with this revision, however old they are in the other document.
            let attachments = try AttachmentList(
                document.attachments.map {
                    try DocumentAttachment(
                        name: $0.name, digest: $0.digest, length: $0.length, contentType: $0.contentType,
                        revpos: generation, encoding: $0.encoding)
                })
            return try transaction.put(copy, body: document.body, parent: parent, attachments: attachments).revision
        }
        exchange.respond(Self.written(201, request, copy, written))
    }

    /// The answer for a revision that was written.
    static func written(_ status: Int, _ request: RESTRequest, _ id: DocumentID, _ revision: RevisionID) -> HTTPAnswer {
        var headers = [(name: "ETag", value: "\"\(revision)\"")]
        if status != 200 { headers.append(("Location", request.location([request.path[0], id.text]))) }
        return HTTPAnswer(
            status,
            JSONValue(object: [("ok", true), ("id", .string(id.text)), ("rev", .string(revision.description))]),
            headers: headers)
    }
}
