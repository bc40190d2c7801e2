import KithDocuments
import KithReplication
import KithTransport

/// `POST /_replicate`, as CouchDB has it.
extension RESTRouter {
    func replicate(_ exchange: RESTExchange) async throws {
        try allow(exchange.request, "POST")
        let members = try exchange.request.jsonObject()
        if try members["cancel"].map({ value throws(KithError) in try Self.flag("cancel", value) }) ?? false {
            return try cancel(exchange, members)
        }
        let request = try HTTPReplicationRequest(couchDB: members)
        if request.directions == .receive, request.createsTarget, node.registry.find(request.database) == nil {
            try await node.createDatabase(request.database)
        }
        let running = node.httpReplications.find(like: request)
        let job = try running ?? node.httpReplications.start(request)
        guard !request.isContinuous else {
            return exchange.respond(
                HTTPAnswer(202, JSONValue(object: [("ok", true), ("_local_id", .string(job.id))])))
        }
        // Whoever has only joined it leaves it to who began it.
        let ownsJob = running == nil
        exchange.onClosed = { if ownsJob { job.cancel() } else { job.changed.signal() } }
        if exchange.isClosed, ownsJob { job.cancel() }
        while job.result == nil, ownsJob || !exchange.isClosed {
            await job.changed.wait(secondsMax: NodeLimits.maintenanceSilenceSeconds)
        }
        guard let result = job.result, !exchange.isClosed else { return }
        let status = try result.get()
        // What was written down at its end says most of it.
        let name = "_local/" + job.id
        let checkpoint = try await node.registry.database(request.database).read { try $0.localDocument(name) }
            .flatMap { bytes in try? JSONValue(parsing: Array(bytes.drop { $0 != UInt8(ascii: "\n") }.dropFirst())) }
        var answer = checkpoint ?? JSONValue(object: [("history", []), ("source_last_seq", 0)])
        answer["ok"] = true
        answer["replication_id_version"] = 4
        if status.revisionsSent + status.revisionsReceived + status.refusals == 0 { answer["no_changes"] = true }
        exchange.respond(HTTPAnswer(200, answer))
    }

    /// The replications under way, as `_scheduler/jobs` has them.
    var scheduledJobs: [JSONValue] {
        node.httpReplications.all.map { job in
            let sends = job.request.directions.contains(.send)
            let (here, there) = (job.request.database.text, job.request.address.url)
            return JSONValue(object: [
                ("id", .string(job.id)), ("database", .null), ("doc_id", .null), ("node", .string(nodeName)),
                ("source", .string(sends ? here : there)), ("target", .string(sends ? there : here)),
                ("start_time", .string(WallClock.text(job.startedSeconds))),
                ("info", job.report.lastError.map { ["error": .string($0.message)] } ?? .null), ("history", []),
            ])
        }
    }

    /// The documents of `_replicator`, as `_scheduler/docs` has them.
    var scheduledDocuments: [JSONValue] {
        node.replicator.all.map { document in
            JSONValue(object: [
                ("database", "_replicator"), ("doc_id", .string(document.id)), ("node", .string(nodeName)),
                ("state", .string(document.state.rawValue)),
                ("last_updated", .string(WallClock.text(document.stateSeconds))),
                ("info", document.reason.map { ["error": .string($0)] } ?? .null),
            ])
        }
    }

    private func cancel(_ exchange: RESTExchange, _ members: JSONObject) throws {
        let job: HTTPReplicationJob?
        if let id = (members["replication_id"] ?? members["_local_id"] ?? members["id"])?.stringValue {
            job = node.httpReplications.all.first { $0.id.utf8.elementsEqual(id.utf8) }
        } else {
            job = node.httpReplications.find(like: try HTTPReplicationRequest(couchDB: members))
        }
        guard let job else { throw KithError(.notFound, "there is no such replication under way") }
        guard !job.request.isPersistent else {
            throw KithError(
                .forbidden, "a document of _replicator asks for this replication", remedy: "Delete the document")
        }
        job.cancel()
        exchange.respond(HTTPAnswer(200, JSONValue(object: [("ok", true), ("_local_id", .string(job.id))])))
    }
}
