import KithDocuments
import KithReplication
import KithTransport

/// Replication with CouchDB servers, as this node's owner asks for it.
extension RESTRouter {
    /// `POST /DATABASE/_sync` with `url`: the same as with `peer`, with a database of a CouchDB server; with `continuous` it goes on
    /// until the client goes.
    func syncHTTP(_ exchange: RESTExchange, _ database: DatabaseName, _ members: JSONObject) async throws {
        let job = try node.httpReplications.start(try Self.httpRequest(members, database))
        exchange.onClosed = { job.cancel() }
        if exchange.isClosed { job.cancel() }
        var isStreaming = false
        var told: [UInt8] = []
        while job.result == nil {
            await job.changed.wait(secondsMax: NodeLimits.maintenanceSilenceSeconds)
            guard job.result == nil, !exchange.isClosed else { continue }
            if !isStreaming { exchange.startStream() }
            isStreaming = true
            let line = Self.json(job.report).canonicalBytes()
            // An empty line is a sign of life.
            await exchange.send((line == told ? [] : line) + [UInt8(ascii: "\n")])
            told = line
            await pause(NodeLimits.statusIntervalSeconds)
        }
        guard let result = job.result, !exchange.isClosed else { return }
        guard isStreaming else { return exchange.respond(HTTPAnswer(200, Self.done(try result.get()))) }
        switch result {
        case .success(let status): await exchange.send(Self.done(status).canonicalBytes() + [UInt8(ascii: "\n")])
        case .failure(let error): await exchange.send(HTTPAnswer.error(error).body)
        }
        exchange.endStream()
    }

    private static func json(_ report: HTTPReplicationReport) -> JSONValue {
        var value = json(report.status)
        if !report.isRunning { value["state"] = "connecting" }
        if let error = report.lastError {
            value["lastError"] = .string(error.message)
            value["lastErrorAt"] = report.lastErrorAt.map { JSONValue($0) }
        }
        return value
    }

    private static func httpRequest(
        _ members: JSONObject, _ database: DatabaseName
    ) throws(KithError) -> HTTPReplicationRequest {
        guard let url = members["url"]?.stringValue else { throw KithError(.badRequest, "url must be a text") }
        var request = HTTPReplicationRequest(
            database: database, address: try CouchDBAddress(parsing: url), directions: .both)
        for (name, value) in members {
            switch name {
            case "url": break
            case "direction": request.directions = try directions(value)
            case "doc_ids": request.documentIDs = try documentIDs(value)
            case "continuous": request.isContinuous = try flag(name, value)
            case "create_target": request.createsTarget = try flag(name, value)
            case "ca_file":
                guard let path = value.stringValue, path.hasPrefix("/") else {
                    throw KithError(.badRequest, "ca_file must be the whole path of a file")
                }
                request.authorityFile = path
            case "auth": request.credentials = try credentials(value)
            default: throw KithError(.badRequest, "there is no \"\(name.prefix(100))\" in a request to replicate once")
            }
        }
        return request
    }

    /// CouchDB's `{"basic": {"username": …, "password": …}}`.
    nonisolated static func credentials(_ value: JSONValue) throws(KithError) -> HTTPCredentials {
        guard let user = value["basic"]?["username"]?.stringValue, !user.isEmpty, !user.contains(":"),
            let password = value["basic"]?["password"]?.stringValue
        else { throw KithError(.badRequest, "auth must be {\"basic\": {\"username\": …, \"password\": …}}") }
        return HTTPCredentials(user: user, password: password)
    }

    nonisolated static func flag(_ name: String, _ value: JSONValue) throws(KithError) -> Bool {
        guard let flag = value.boolValue else { throw KithError(.badRequest, "\(name) must be true or false") }
        return flag
    }
}

extension RESTRouter {
    /// The replications with CouchDB servers, as `_active_tasks` has them.
    var replicationTasks: [JSONValue] {
        node.httpReplications.all.map { job in
            let (request, report) = (job.request, job.report)
            let sends = request.directions.contains(.send)
            let receives = request.directions.contains(.receive)
            let (here, there) = (request.database.text, request.address.url)
            var task: [(String, JSONValue)] = [
                ("type", "replication"), ("replication_id", .string(job.id)),
                ("node", .string(nodeName)), ("database", .string(here)),
                ("source", .string(sends ? here : there)), ("target", .string(sends ? there : here)),
                ("continuous", .bool(request.isContinuous)),
                ("state", .string(NodeStatus.ServerStatus(job).state.rawValue)),
                ("started_on", JSONValue(job.startedSeconds)),
                ("docs_written", JSONValue(report.status.revisionsSent + report.status.revisionsReceived)),
                ("doc_write_failures", JSONValue(report.status.refusals)),
                ("changes_pending", JSONValue(optional: pending(report.status, sends, receives))),
                ("updated_on", JSONValue(WallClock.seconds)),
            ]
            if sends && receives { task.append(("both_ways", true)) }
            if let error = report.lastError {
                task.append(("error", .string(error.message)))
                task.append(("error_at", JSONValue(time: report.lastErrorAt)))
            }
            return JSONValue(object: task)
        }
    }

    private func pending(_ status: ReplicationStatus, _ sends: Bool, _ receives: Bool) -> Int? {
        guard !sends || status.toSend != nil, !receives || status.toReceive != nil else { return nil }
        return (sends ? status.toSend ?? 0 : 0) + (receives ? status.toReceive ?? 0 : 0)
    }
}
