import KithDocuments
import KithStore
import KithTransport
import KithTrust

/// Answers requests in the dialect of CouchDB, and those of `/_kith` that only Kith has.
@LoopActor
final class RESTRouter {
    let node: Node

    init(node: Node) { self.node = node }

    /// Answers one request; every error becomes an answer.
    func handle(_ exchange: RESTExchange) async {
        do {
            try await route(exchange)
        } catch {
            // Once an answer has begun, only cutting it off tells the client that it is not whole.
            if exchange.hasBegun { return exchange.breakStream() }
            exchange.respond(.error(error))
        }
    }

    private func route(_ exchange: RESTExchange) async throws {
        guard let first = exchange.request.path.first else { return try welcome(exchange) }
        if first.hasPrefix("_") { return try await server(exchange, first) }
        let name = try naming("illegal_database_name") { () throws(KithError) in try KeyspaceName(first) }
        try await database(exchange, name)
    }

    /// - Throws: `.methodNotAllowed` when the request's method is none of these.
    func allow(_ request: RESTRequest, _ methods: String...) throws(CouchDBError) {
        guard methods.contains(request.method) else {
            let list = methods.joined(separator: ", ")
            throw CouchDBError(
                "method_not_allowed", KithError(.methodNotAllowed, "Only \(list) allowed"),
                headers: [("Allow", list)])
        }
    }

    // MARK: /_kith

    func kith(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        let id = node.home.identity.nodeID
        switch request.path.dropFirst().first {
        case "status" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            if request.query["feed"] == "continuous" { return await streamStatus(exchange) }
            exchange.respond(HTTPAnswer(200, await node.status().json))
        case "id" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("id", .string(id.description)), ("short", .string(id.short)), ("name", .string(node.name)),
                    ])))
        case "peers" where request.path.count == 2:
            try allow(request, "GET", "HEAD")
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("peers", .array(node.home.peerBook.peers.map(json))),
                        ("revoked", .array(node.home.peerBook.revokedPeers.map(json))),
                    ])))
        case "peers" where request.path.count == 3: try peer(exchange, request.path[2])
        case "peers" where request.path.count == 4 && request.path[3] == "sharing":
            try sharing(exchange, request.path[2])
        case "peers" where request.path.count == 4: try await trust(exchange, request.path[2], request.path[3])
        case "addresses" where request.path.count <= 3: try addresses(exchange)
        case "certificate" where request.path.count == 2: try certificate(exchange)
        case "key" where request.path.count == 3 && request.path[2] == "alarms":
            try allow(request, "DELETE")
            node.settleKey()
            exchange.respond(HTTPAnswer(200, ["ok": true]))
        case "users" where request.path.count <= 3: try await users(exchange, name: request.path.dropFirst(2).first)
        case "pairings": try await pairings(exchange)
        case "invitations": try await invitations(exchange)
        case "joins": try await joins(exchange)
        case "restore" where request.path.count == 2:
            try allow(request, "POST")
            try await restore(exchange)
        default: throw KithError(.notFound, "there is no such endpoint")
        }
    }

    private func peer(_ exchange: RESTExchange, _ text: String) throws {
        let request = exchange.request
        try allow(request, "PUT", "DELETE", "GET")
        switch request.method {
        case "PUT":
            let id = try NodeID(parsing: text)
            var name: String?
            if !request.body.isEmpty {
                let value = try JSONValue(parsing: request.body)
                guard value.objectValue != nil else { throw KithError(.badRequest, "the body must be a JSON object") }
                if let given = value["name"], given != .null {
                    guard let text = given.stringValue else { throw KithError(.badRequest, "name must be a text") }
                    name = text
                }
            }
            let peer = try node.trust(id, name: name)
            exchange.respond(
                HTTPAnswer(
                    201,
                    JSONValue(object: [
                        ("ok", true), ("id", .string(peer.id.description)), ("short", .string(peer.id.short)),
                        ("name", .string(peer.name)),
                    ])))
        default:
            let peer = try node.home.peerBook.find(text, isRevoked: true)
            if request.method == "GET" { return exchange.respond(HTTPAnswer(200, json(peer))) }
            try node.untrust(peer.id)
            exchange.respond(
                HTTPAnswer(
                    200,
                    JSONValue(object: [
                        ("ok", true), ("id", .string(peer.id.description)), ("short", .string(peer.id.short)),
                        ("name", .string(peer.name)),
                    ])))
        }
    }

    /// One status as a line at each change, at most ten in a second, until the client goes.
    private func streamStatus(_ exchange: RESTExchange) async {
        exchange.startStream()
        exchange.onClosed = { [weak node] in node?.statusChanged() }
        while !exchange.isClosed {
            let version = node.statusVersion
            await exchange.send(await node.status().json.canonicalBytes() + [UInt8(ascii: "\n")])
            if node.isStopping { break }
            await pause(NodeLimits.statusIntervalSeconds)
            await node.waitForStatus(after: version)
        }
        exchange.endStream()
    }

    func pause(_ seconds: Double) async {
        await withCheckedContinuation { continuation in
            EventLoop.shared.schedule(afterSeconds: seconds) { continuation.resume() }
        }
    }
}
