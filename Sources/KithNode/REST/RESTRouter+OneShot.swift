import KithDocuments
import KithReplication
import KithTransport

extension RESTRouter {
    /// `POST /DATABASE/_sync`: replicates once with the peer that the body names, and answers with a stream of lines: how it stands,
    /// and last what came of it or an error. It is given up when the client goes.
    func sync(_ exchange: RESTExchange, _ database: DatabaseName) async throws {
        if let members = try exchange.request.jsonBody().objectValue, members["url"] != nil {
            return try await syncHTTP(exchange, database, members)
        }
        let replication = try node.links.replicateOnce(try oneShot(exchange.request, database))
        exchange.onClosed = { replication.cancel() }
        // It may have gone before anybody listened for that.
        if exchange.isClosed { replication.cancel() }
        var isStreaming = false
        var told: [UInt8] = []
        var lookedAt = ContinuousClock.now
        while replication.result == nil {
            await replication.changed.wait(secondsMax: NodeLimits.maintenanceSilenceSeconds)
            guard replication.result == nil, !exchange.isClosed else { continue }
            // What fails soon is answered with its status; but nobody waits long for a sign of life.
            guard replication.status != nil || lookedAt.duration(to: .now) > Self.silence else { continue }
            lookedAt = .now
            if !isStreaming { exchange.startStream() }
            isStreaming = true
            let line = replication.status.map { Self.json($0).canonicalBytes() } ?? []
            // An empty line is a sign of life.
            await exchange.send((line == told ? [] : line) + [UInt8(ascii: "\n")])
            told = line
            await pause(NodeLimits.statusIntervalSeconds)
        }
        guard let result = replication.result, !exchange.isClosed else { return }
        guard isStreaming else { return exchange.respond(HTTPAnswer(200, Self.done(try result.get()))) }
        switch result {
        case .success(let status): await exchange.send(Self.done(status).canonicalBytes() + [UInt8(ascii: "\n")])
        case .failure(let error): await exchange.send(HTTPAnswer.error(error).body)
        }
        exchange.endStream()
    }

    private static let silence = Duration.seconds(NodeLimits.maintenanceSilenceSeconds)

    private func oneShot(_ request: RESTRequest, _ database: DatabaseName) throws(KithError) -> OneShotRequest {
        guard let members = try request.jsonBody().objectValue else {
            throw KithError(.badRequest, "the body must be a JSON object")
        }
        guard let name = members["peer"]?.stringValue else { throw KithError(.badRequest, "peer must be a text") }
        var result = OneShotRequest(database: database, peer: try node.home.peerBook.find(name).id)
        for (name, value) in members {
            switch name {
            case "peer": break
            case "direction": result.directions = try Self.directions(value)
            case "doc_ids": result.documentIDs = try Self.documentIDs(value)
            default: throw KithError(.badRequest, "there is no \"\(name.prefix(100))\" in a request to replicate once")
            }
        }
        return result
    }

    nonisolated static func directions(_ value: JSONValue) throws(KithError) -> ReplicationDirections {
        guard let directions = value.stringValue.flatMap(ReplicationDirections.init), !directions.isEmpty else {
            throw KithError(.badRequest, "direction must be one of: both, send, receive")
        }
        return directions
    }

    nonisolated static func documentIDs(_ value: JSONValue) throws(KithError) -> Set<DocumentID> {
        guard let items = value.arrayValue, !items.isEmpty else {
            throw KithError(.badRequest, "doc_ids must be a list with at least one document")
        }
        guard items.count <= ReplicationLimits().subscribedDocumentsMax else {
            throw KithError(
                .tooLarge, "doc_ids has more than \(ReplicationLimits().subscribedDocumentsMax) documents")
        }
        var ids: Set<DocumentID> = []
        for item in items {
            guard let text = item.stringValue else { throw KithError(.badRequest, "doc_ids has what is no text") }
            ids.insert(try DocumentID(text))
        }
        return ids
    }

    private static func members(_ status: ReplicationStatus) -> [(String, JSONValue)] {
        [
            ("sent", JSONValue(status.revisionsSent)), ("received", JSONValue(status.revisionsReceived)),
            ("refused", JSONValue(status.refusals)), ("direction", .string(status.directions.name)),
        ]
    }

    static func json(_ status: ReplicationStatus) -> JSONValue {
        JSONValue(
            object: [
                ("state", .string(status.state.rawValue)), ("completed", JSONValue(status.completed)),
                ("total", JSONValue(status.total)), ("toSend", JSONValue(optional: status.toSend)),
                ("toReceive", JSONValue(optional: status.toReceive)),
            ] + members(status))
    }

    static func done(_ status: ReplicationStatus) -> JSONValue {
        JSONValue(object: [("ok", true)] + members(status))
    }
}
