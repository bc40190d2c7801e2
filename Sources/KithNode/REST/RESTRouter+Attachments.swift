import KithDocuments
import KithStore
import KithTransport
import KithWire

extension RESTRouter {
    /// Whether the body of a request is taken as it comes: an attachment, or a document with attachments behind it.
    static func takesBodyAsStream(_ request: RESTRequest) -> Bool {
        let path = request.path
        guard request.method == "PUT", path.count >= 2, !path[0].hasPrefix("_") else { return false }
        let isDesign = path[1] == "_design" || path[1].hasPrefix("_design/")
        guard !path[1].hasPrefix("_") || isDesign else { return false }
        if path.count > (path[1] == "_design" ? 3 : 2) { return true }
        return request.mediaType?.name == "multipart/related"
    }

    /// `/DATABASE/DOCUMENT/ATTACHMENT`.
    func attachment(_ exchange: RESTExchange, _ keyspace: Keyspace, _ document: String, _ name: String) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        let id = try naming("illegal_docid") { () throws(KithError) in try DocumentID(document) }
        try DocumentAttachment.check(name: name)
        switch request.method {
        case "PUT": try await putAttachment(exchange, keyspace, id, name)
        case "DELETE":
            let parent = try request.revision()
            let written = try await keyspace.write(exchange.revocation) { transaction in
                try Self.changeAttachments(of: id, parent, in: transaction) { before in
                    guard before[name] != nil else { throw CouchDBError.missing("Document is missing attachment") }
                    return try AttachmentList(before.filter { !$0.name.utf8.elementsEqual(name.utf8) })
                }
            }
            exchange.respond(Self.written(200, request, id, written))
        default: try await getAttachment(exchange, keyspace, id, name)
        }
    }

    private func getAttachment(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID, _ name: String
    ) async throws {
        let request = exchange.request
        let revision = try request.query["rev"].map { text throws(KithError) in try RevisionID(parsing: text) }
        let attachment = try await keyspace.read { snapshot in
            guard let document = try snapshot.document(id, revision: revision) else { throw CouchDBError.missing() }
            guard revision != nil || !document.isDeleted else { throw CouchDBError.missing("deleted") }
            guard let attachment = document.attachments[name] else {
                throw CouchDBError.missing("Document is missing attachment")
            }
            return attachment
        }
        let tag = "\"\(attachment.digest)\""
        if request.hasTag(tag) { return exchange.respond(.notModified(tag)) }
        // A page among the attachments is no page of this server: its scripts do nothing in the reader's name.
        var headers = [
            (name: "ETag", value: tag), (name: "Accept-Ranges", value: "bytes"),
            (name: "Content-Security-Policy", value: "sandbox"),
        ]
        if let encoding = attachment.encoding { headers.append(("Content-Encoding", encoding)) }
        var content = RESTContent()
        var status = 200
        switch HTTPByteRange(request.headers["Range"], length: attachment.length) {
        case .all: content.append(.blob(attachment.digest, 0..<attachment.length))
        case .part(let range):
            status = 206
            headers.append(
                ("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(attachment.length)"))
            content.append(.blob(attachment.digest, range))
        case .notSatisfiable:
            throw CouchDBError(
                "requested_range_not_satisfiable", status: 416,
                KithError(.badRequest, "Requested range not satisfiable"),
                headers: [("Content-Range", "bytes */\(attachment.length)")])
        }
        await exchange.respond(
            status, content, contentType: attachment.contentType, headers: headers, from: keyspace)
    }

    private func putAttachment(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ id: DocumentID, _ name: String
    ) async throws {
        let request = exchange.request
        let parent = try request.revision()
        let contentType = request.headers["Content-Type"]
        let md5 = try request.headers["Content-MD5"].map { text throws(KithError) -> [UInt8] in
            guard let bytes = Base64.decode(text), bytes.count == 16 else {
                throw KithError(.badRequest, "Content-MD5 must be an MD5 in base64")
            }
            return bytes
        }
        // What cannot be written is refused before its bytes come.
        _ = try DocumentAttachment(
            name: name, digest: AttachmentDigest(bytes: [UInt8](repeating: 0, count: 20)), length: 0,
            contentType: contentType)
        try await keyspace.read { snapshot in
            let isWritable =
                if let parent {
                    try snapshot.revisionTree(id)?.isLeaf(parent) ?? false
                } else {
                    try snapshot.winner(of: id)?.isDeleted ?? true
                }
            guard isWritable else { throw KithError(.conflict, "the document has another current revision") }
        }
        guard let body = exchange.body else { throw KithError(.internal, "the body of an attachment is not a stream") }
        let isPacked = request.headers["Content-Encoding"].map { HTTPHeaders.isSame($0, "gzip") } ?? false
        let receiver = try AttachmentReceiver(
            keyspace.database.database, digest: nil, length: nil, isPacked: isPacked, md5: md5)
        while let bytes = try await body.next() { try await receiver.append(bytes) }
        let blob = try await receiver.finish()
        let written = try await keyspace.write(exchange.revocation) { transaction in
            try Self.changeAttachments(of: id, parent, in: transaction) { before in
                let generation = (try parent ?? transaction.winner(of: id)?.revision)?.generation ?? 0
                let new = try DocumentAttachment(
                    name: name, digest: blob.digest, length: blob.length, contentType: contentType,
                    revpos: generation + 1)
                return try AttachmentList(before.filter { !$0.name.utf8.elementsEqual(name.utf8) } + [new])
            }
        }
        exchange.respond(Self.written(201, request, id, written))
    }

    /// Writes a revision that has other attachments and is the same otherwise; of a document that is not here, its first.
    private nonisolated static func changeAttachments(
        of id: DocumentID, _ parent: RevisionID?, in transaction: WriteTransaction,
        _ change: (AttachmentList) throws -> AttachmentList
    ) throws -> RevisionID {
        guard let parent else {
            if let winner = try transaction.winner(of: id), !winner.isDeleted {
                throw KithError(
                    .conflict, "the revision whose attachments change is missing",
                    remedy: "Name the current one: ?rev=REVISION")
            }
            return try transaction.put(
                id, body: Array("{}".utf8), parent: nil, attachments: change(AttachmentList())
            ).revision
        }
        guard let document = try transaction.document(id, revision: parent) else {
            throw KithError(.conflict, "the document has another current revision")
        }
        return try transaction.put(
            id, body: document.body, parent: parent, attachments: change(document.attachments)
        ).revision
    }

    // MARK: A document with its attachments

    /// Takes `multipart/related`: the document, then the bytes of those attachments of which it says that they follow, in
    /// its order, or by the file names that the parts have.
    func receiveDocument(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws -> RESTDocument {
        guard let body = exchange.body, let boundary = exchange.request.mediaType?[parameter: "boundary"] else {
            throw KithError(.badRequest, "multipart/related needs a boundary")
        }
        let reader = try MultipartReader(body, boundary: boundary)
        let text = try await Self.firstPart(reader, exchange.held)
        var document = try await Self.document(text)
        var waiting = try Self.following(document, text)
        while true {
            switch try await reader.next() {
            case .part(let headers):
                guard let attachment = Self.take(&waiting, headers) else {
                    throw KithError(
                        .badRequest, "a part follows the document of which it does not say so, or under another name")
                }
                let isForeign = attachment.digest == nil
                let encoding = attachment.encoding ?? headers["Content-Encoding"]
                // CouchDB tells the length of the bytes as they were before it packed them.
                let isPacked = isForeign && (encoding.map { HTTPHeaders.isSame($0, "gzip") } ?? false)
                let receiver = try AttachmentReceiver(
                    keyspace.database.database, digest: attachment.digest, length: attachment.length,
                    isPacked: isPacked, md5: attachment.md5)
                while case .body(let bytes) = try await reader.next() { try await receiver.append(bytes) }
                document.received[Array(attachment.name.utf8)] = RESTDocument.Received(
                    blob: try await receiver.finish(), isUnpacked: isPacked)
            case .end:
                guard waiting.isEmpty else {
                    throw KithError(.badRequest, "attachment \(waiting[0].name) was to follow and did not")
                }
                while try await body.next() != nil {}
                return document
            default: throw KithError(.internal, "parts of a body came out of order")
            }
        }
    }

    private static func firstPart(_ reader: MultipartReader, _ held: RESTHeldBytes) async throws -> [UInt8] {
        guard case .part(let headers) = try await reader.next() else {
            throw KithError(.badRequest, "the body has no parts")
        }
        if let type = headers["Content-Type"], HTTPMediaType(type)?.name != "application/json" {
            throw KithError(.badRequest, "the first part must be the document, as application/json")
        }
        var text: [UInt8] = []
        while case .body(let bytes) = try await reader.next() {
            try held.take(bytes.count)
            text.append(contentsOf: bytes)
            guard text.count <= DocumentLimits.documentBytesMax + DocumentLimits.attachmentStubsBytesMax else {
                throw KithError(
                    .tooLarge, "the document has more than \(DocumentLimits.documentBytesMax) bytes",
                    remedy: "Divide it into smaller ones")
            }
        }
        return text
    }

    /// The attachments that follow, in the order of the text.
    private static func following(
        _ document: RESTDocument, _ text: [UInt8]
    ) throws -> [IncomingAttachment] {
        var waiting: [[UInt8]: IncomingAttachment] = [:]
        for attachment in document.attachments where attachment.content == .follows {
            waiting[Array(attachment.name.utf8)] = attachment
        }
        guard !waiting.isEmpty else { return [] }
        let names = try text.withUnsafeBytes { bytes -> [String] in
            guard let place = try JSONOutline.members(of: bytes).first(where: { $0.name == "_attachments" })?.range
            else { return [] }
            let entries = UnsafeRawBufferPointer(rebasing: bytes[place])
            return try JSONOutline.members(of: entries).map(\.name)
        }
        return names.compactMap { waiting[Array($0.utf8)] }
    }

    private static func take(_ waiting: inout [IncomingAttachment], _ headers: HTTPHeaders) -> IncomingAttachment? {
        guard !waiting.isEmpty else { return nil }
        guard let name = headers["Content-Disposition"].flatMap(HTTPContentDisposition.fileName) else {
            return waiting.removeFirst()
        }
        if let place = waiting.firstIndex(where: { $0.name.utf8.elementsEqual(name.utf8) }) {
            return waiting.remove(at: place)
        }
        // Not all write what is special in a header in the same way; then the order must agree with the rest.
        guard plain(waiting[0].name) == plain(name) else { return nil }
        return waiting.removeFirst()
    }

    /// The bytes of a name that stand in a header as they are.
    private static func plain(_ name: String) -> [UInt8] {
        name.utf8.filter { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
