import KithDocuments
import KithStore
import KithTransport

/// Checks, compactions, backups and restores. With `progress=true` the answer is a stream of lines: how far it is, and last
/// the result or an error; it ends when the client goes. Otherwise it is one answer when all is done.
extension RESTRouter {
    private typealias Work =
        @Sendable (_ progress: @escaping @Sendable (MaintenanceProgress) -> Void) async throws ->
        JSONValue

    func check(_ exchange: RESTExchange, _ name: DatabaseName) async throws {
        // That a damaged one could not even be opened is what a check of it finds.
        if let error = node.registry.failure(name), error.code == .damaged {
            let problem = "it cannot be opened: " + error.message
            return try await perform(exchange) { _ in
                Self.json(CheckReport(faults: [CheckFault(collection: nil, document: nil, problem: problem)]))
            }
        }
        let store = try node.registry.database(name).database
        try await perform(exchange) { Self.json(try await store.check(progress: $0)) }
    }

    func compact(_ exchange: RESTExchange, _ database: OpenDatabase) async throws {
        let store = database.database
        if try exchange.request.flag("progress") {
            return try await perform(exchange) { Self.json(try await store.compact(progress: $0)) }
        }
        // CouchDB's answer: it has begun, and goes on by itself.
        if !database.isCompacting {
            database.isCompacting = true
            let (name, log) = (database.name, node.log)
            Task { @LoopActor in
                do {
                    _ = try await store.compact()
                } catch {
                    log("database \(name) was not compacted: \(error)")
                }
                database.isCompacting = false
            }
        }
        exchange.respond(HTTPAnswer(202, JSONValue(object: [("ok", true)])))
    }

    func backup(_ exchange: RESTExchange, _ database: OpenDatabase) async throws {
        let (store, log, name) = (database.database, node.log, database.name)
        let file = try Self.file(in: Self.object(exchange.request))
        try await perform(exchange) { progress in
            let size = try await store.backup(to: file, progress: progress)
            await log("database \(name) was backed up")
            return JSONValue(object: [
                ("ok", true), ("file", .string(file)), ("bytes", JSONValue(Int64(clamping: size))),
            ])
        }
    }

    /// `POST /_kith/restore`: makes a database from a file of the node's machine.
    func restore(_ exchange: RESTExchange) async throws {
        let body = try Self.object(exchange.request)
        let file = try Self.file(in: body)
        guard let text = body["name"]?.stringValue else { throw KithError(.badRequest, "name must be a text") }
        let name = try DatabaseName(text)
        let isNew: Bool
        switch body["new"] {
        case nil: isNew = false
        case .some(let value):
            guard let flag = value.boolValue else { throw KithError(.badRequest, "new must be true or false") }
            isNew = flag
        }
        let node = node
        try await perform(exchange) { progress in
            try await node.restoreDatabase(name, from: file, isNew: isNew, progress: progress)
            return JSONValue(object: [("ok", true), ("name", .string(name.text))])
        }
    }

    // MARK: Answers

    private func perform(_ exchange: RESTExchange, _ work: @escaping Work) async throws {
        // Nothing is begun that would not be cancelled: for a client that has gone already, or asks in a wrong way.
        let isStream = try exchange.request.flag("progress")
        guard !exchange.isClosed else { return }
        let latest = LatestProgress()
        let task = Task.detached { try await work { latest.set($0) } }
        let done = ChangeSignal()
        var result: Result<JSONValue, any Error>?
        exchange.onClosed = {
            task.cancel()
            done.signal()
        }
        let waiting = Task { @LoopActor in
            result = await task.result
            done.signal()
        }
        var isStreaming = false
        var lastSent = ContinuousClock.now
        while result == nil, !exchange.isClosed {
            await done.wait(secondsMax: isStream ? NodeLimits.statusIntervalSeconds : 3_600)
            guard isStream, result == nil, !exchange.isClosed else { continue }
            // What fails at once is still answered with its status.
            if !isStreaming { exchange.startStream() }
            isStreaming = true
            let progress = latest.take()
            guard progress != nil || lastSent.duration(to: .now) > .seconds(NodeLimits.maintenanceSilenceSeconds) else {
                continue
            }
            lastSent = .now
            await exchange.send((progress.map { Self.json($0).canonicalBytes() } ?? []) + [UInt8(ascii: "\n")])
        }
        // It may have gone before anybody listened for that.
        if exchange.isClosed { task.cancel() }
        _ = await waiting.value
        // When the client has gone there is nobody to tell.
        guard let result, !exchange.isClosed else { return }
        guard isStreaming else { return exchange.respond(HTTPAnswer(200, try result.get())) }
        switch result {
        case .success(let value): await exchange.send(value.canonicalBytes() + [UInt8(ascii: "\n")])
        case .failure(let error):
            let known = error as? KithError ?? KithError(.internal, "the request failed", cause: error)
            await exchange.send(HTTPAnswer.error(known).body)
        }
        exchange.endStream()
    }

    private static func object(_ request: RESTRequest) throws(KithError) -> JSONValue {
        let value = try JSONValue(parsing: request.body)
        guard value.objectValue != nil else { throw KithError(.badRequest, "the body must be a JSON object") }
        return value
    }

    private static func file(in body: JSONValue) throws(KithError) -> String {
        guard let file = body["file"]?.stringValue, file.utf8.first == UInt8(ascii: "/"), !file.utf8.contains(0) else {
            throw KithError(.badRequest, "file must be a path that begins with /")
        }
        return file
    }

    private nonisolated static func json(_ progress: MaintenanceProgress) -> JSONValue {
        JSONValue(object: [
            ("phase", .string(progress.phase.rawValue)), ("completed", JSONValue(Int64(progress.completed))),
            ("total", JSONValue(Int64(progress.total))),
        ])
    }

    private nonisolated static func json(_ report: CheckReport) -> JSONValue {
        JSONValue(object: [
            ("ok", .bool(report.isSound)), ("documents", JSONValue(Int64(report.documents))),
            ("attachments", JSONValue(Int64(report.blobs))), ("fault_count", JSONValue(Int64(report.faultCount))),
            (
                "faults",
                .array(
                    report.faults.map { fault in
                        var members: [(String, JSONValue)] = [("problem", .string(fault.problem))]
                        if let collection = fault.collection {
                            members.append(("collection", .string(collection.text)))
                        }
                        if let document = fault.document { members.append(("document", .string(document))) }
                        return JSONValue(object: members)
                    })
            ),
        ])
    }

    private nonisolated static func json(_ result: CompactionResult) -> JSONValue {
        JSONValue(object: [
            ("ok", true), ("bytes_before", JSONValue(Int64(clamping: result.bytesBefore))),
            ("bytes_after", JSONValue(Int64(clamping: result.bytesAfter))),
            ("old_bodies", JSONValue(Int64(result.oldBodies))), ("attachments", JSONValue(Int64(result.blobs))),
        ])
    }
}
