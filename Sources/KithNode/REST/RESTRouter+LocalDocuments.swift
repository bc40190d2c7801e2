import KithDocuments
import KithStore
import KithTransport

/// A local document as REST keeps it: in the store a line with its number, then its body.
private struct LocalText: Sendable {
    var number: UInt64
    var body: [UInt8]

    init(number: UInt64, body: [UInt8]) {
        self.number = number
        self.body = body
    }

    /// Reads what `stored` has written; nil for anything else.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let number = UInt64(String(decoding: bytes[..<end], as: UTF8.self))
        else { return nil }
        self.init(number: number, body: Array(bytes[(end + 1)...]))
    }

    var stored: [UInt8] { Array("\(number)\n".utf8) + body }

    func append(_ id: String, to content: inout RESTContent) {
        content.append("{\"_id\":")
        content.append(jsonString: id)
        content.append(",\"_rev\":\"0-\(number)\"")
        if body.count > 2 {
            content.append(UInt8(ascii: ","))
            content.append(body.dropFirst())
        } else {
            content.append("}")
        }
    }
}

/// Local documents: they stay on this node, have a number instead of a history, and are in no list but their own. A
/// replicator keeps its checkpoints in them.
extension RESTRouter {
    private nonisolated static let localPrefix = "_local/"

    /// `/DATABASE/_local/NAME`.
    func localDocument(_ exchange: RESTExchange, _ keyspace: Keyspace, _ name: String) async throws {
        let request = exchange.request
        try allow(request, "GET", "HEAD", "PUT", "DELETE")
        guard !name.isEmpty, name.utf8.count <= DocumentLimits.documentIDBytesMax, !name.utf8.contains(0) else {
            throw CouchDBError("illegal_docid", KithError(.badName, "this is not the name of a local document"))
        }
        let id = Self.localPrefix + name
        let key = Self.key(name, exchange.caller)
        switch request.method {
        case "PUT": try await putLocal(exchange, keyspace, id, key)
        case "DELETE":
            let told = try Self.number(request.query["rev"] ?? request.headers["If-Match"])
            try await keyspace.write(exchange.revocation) { transaction in
                guard let before = try transaction.localDocument(key).flatMap(LocalText.init) else {
                    throw CouchDBError.missing()
                }
                try Self.check(told, before.number)
                try transaction.setLocalDocument(key, nil)
            }
            exchange.respond(Self.answer(200, id, 0))
        default:
            let text = try await keyspace.read { try $0.localDocument(key).flatMap(LocalText.init) }
            guard let text else { throw CouchDBError.missing() }
            var content = RESTContent()
            text.append(id, to: &content)
            content.append("\n")
            await exchange.respond(200, content, from: keyspace)
        }
    }

    /// Where it lies. Peers and guests have their own, and neither see nor change those of others: replication shows them none.
    private static func key(_ name: String, _ caller: RESTCaller) -> String {
        switch caller {
        case .peer(let id): "_local@\(id)/\(name)"
        case .guest: "_local@guest/\(name)"
        case .owner, .ownKey, .user, .nobody: localPrefix + name
        }
    }

    private func putLocal(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ id: String, _ key: String
    ) async throws {
        let request = exchange.request
        var body = try request.jsonBody()
        guard body.objectValue != nil else { throw KithError(.badRequest, "Document must be a JSON object") }
        let told = try Self.number(body["_rev"]?.stringValue ?? request.query["rev"] ?? request.headers["If-Match"])
        let isDeleted = body["_deleted"]?.boolValue ?? false
        for name in ["_id", "_rev", "_deleted", "_revisions"] { body[name] = Optional.none }
        if body["_attachments"] != nil {
            throw KithError(.badRequest, "a local document has no attachments")
        }
        let text: [UInt8]
        do {
            text = try CanonicalJSON.canonicalizeBody(body.canonicalBytes())
        } catch {
            throw error.code == .badDocument ? CouchDBError("doc_validation", error) : CouchDBError(error)
        }
        let number = try await keyspace.write(exchange.revocation) { transaction in
            let before = try transaction.localDocument(key).flatMap(LocalText.init)
            try Self.check(told, before?.number ?? 0)
            let number = isDeleted ? 0 : (before?.number ?? 0) + 1
            try transaction.setLocalDocument(key, isDeleted ? nil : LocalText(number: number, body: text).stored)
            return number
        }
        exchange.respond(Self.answer(201, id, number))
    }

    private static func answer(_ status: Int, _ id: String, _ number: UInt64) -> HTTPAnswer {
        HTTPAnswer(
            status, JSONValue(object: [("ok", true), ("id", .string(id)), ("rev", .string("0-\(number)"))]))
    }

    /// The number in `0-N`; nil where nothing is told.
    private static func number(_ text: String?) throws(KithError) -> UInt64? {
        guard let text = text?.filter({ $0 != "\"" }) else { return nil }
        guard text.hasPrefix("0-"), let number = UInt64(text.dropFirst(2)) else {
            throw KithError(.badRequest, "the revision of a local document is 0- and a number")
        }
        return number
    }

    private nonisolated static func check(_ told: UInt64?, _ number: UInt64) throws(KithError) {
        guard told ?? 0 == number else {
            throw KithError(
                .conflict, "the local document has another current revision: 0-\(number)",
                remedy: "Read it again and repeat the change")
        }
    }

    /// `/DATABASE/_local_docs`.
    func localDocuments(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        var left = try request.integer("limit") ?? .max
        let includesBodies = try request.flag("include_docs")
        exchange.startStream()
        await exchange.send(Array("{\"total_rows\":null,\"offset\":null,\"rows\":[\n".utf8))
        var after: String?
        do {
            while left > 0, !exchange.isClosed {
                let (begin, limit) = (after, min(left, NodeLimits.pageRows))
                let (content, last) = try await keyspace.read { snapshot in
                    let found = try snapshot.localDocuments(prefix: Self.localPrefix, after: begin, limit: limit)
                    var content = RESTContent()
                    for (index, document) in found.enumerated() {
                        guard let text = LocalText(document.body) else { continue }
                        if index > 0 || begin != nil { content.append(",\n") }
                        content.append("{\"id\":")
                        content.append(jsonString: document.name)
                        content.append(",\"key\":")
                        content.append(jsonString: document.name)
                        content.append(",\"value\":{\"rev\":\"0-\(text.number)\"}")
                        if includesBodies {
                            content.append(",\"doc\":")
                            text.append(document.name, to: &content)
                        }
                        content.append("}")
                    }
                    return (content, found.count == limit ? found.last?.name : nil)
                }
                try await exchange.send(content, from: keyspace)
                left -= limit
                guard let last else { break }
                after = last
            }
        } catch {
            return exchange.breakStream()
        }
        await exchange.send(Array("\n]}\n".utf8))
        exchange.endStream()
    }
}
