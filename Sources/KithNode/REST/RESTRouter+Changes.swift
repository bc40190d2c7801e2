import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    private struct ChangesQuery {
        var since: UInt64
        var left: Int
        var includesBodies: Bool
        var allLeaves: Bool
        var heartbeatSeconds: Double
        var timeoutSeconds: Double
    }

    /// The changes feed: `normal` ends with what there is, `longpoll` waits for the first change, `continuous` goes on.
    func changes(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = exchange.request
        // A collection that is not there is an answer of its own, and not a stream that breaks off.
        _ = try await keyspace.read { try $0.lastSequence }
        let now = keyspace.lastSequence
        let since: UInt64
        switch request.query["since"] {
        case nil: since = 0
        case "now"?: since = now
        case let text?:
            guard let number = UInt64(text.filter { $0 != "\"" }) else {
                throw KithError(
                    .badRequest, "since must be a sequence of this database or now, not \"\(text.prefix(100))\"")
            }
            since = number
        }
        var query = ChangesQuery(
            since: since, left: try request.integer("limit") ?? Int.max,
            includesBodies: try request.flag("include_docs"), allLeaves: request.query["style"] == "all_docs",
            heartbeatSeconds: Double(try request.integer("heartbeat", in: 1...3_600_000) ?? 60_000) / 1_000,
            timeoutSeconds: Double(try request.integer("timeout", in: 1...3_600_000) ?? 60_000) / 1_000)
        switch request.query["feed"] ?? "normal" {
        case "normal": try await listChanges(exchange, keyspace, &query, waits: false)
        case "longpoll": try await listChanges(exchange, keyspace, &query, waits: true)
        case "continuous": await followChanges(exchange, keyspace, &query)
        case let feed:
            throw KithError(
                .notImplemented, "there is no feed \"\(feed.prefix(100))\"; normal, longpoll and continuous are served")
        }
    }

    private func listChanges(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ query: inout ChangesQuery, waits: Bool
    ) async throws {
        if waits {
            exchange.onClosed = { [weak changed = keyspace.changed] in changed?.signal() }
            let deadline = EventLoop.monotonicNanoseconds + UInt64(query.timeoutSeconds * 1e9)
            while keyspace.lastSequence <= query.since, !exchange.isClosed, !node.isStopping,
                EventLoop.monotonicNanoseconds < deadline
            {
                await keyspace.changed.wait(secondsMax: query.timeoutSeconds)
            }
        }
        exchange.startStream()
        await exchange.send(Array("{\"results\":[\n".utf8))
        var isFirst = true
        do {
            while query.left > 0, !exchange.isClosed {
                let page = try await page(keyspace, &query)
                if page.isEmpty { break }
                var bytes: [UInt8] = []
                for row in page {
                    if !isFirst { bytes.append(contentsOf: ",\n".utf8) }
                    isFirst = false
                    bytes.append(contentsOf: row)
                }
                await exchange.send(bytes)
            }
        } catch {
            return exchange.breakStream()
        }
        await exchange.send(Array("\n],\"last_seq\":\(query.since),\"pending\":0}\n".utf8))
        exchange.endStream()
    }

    private func followChanges(_ exchange: RESTExchange, _ keyspace: Keyspace, _ query: inout ChangesQuery) async {
        exchange.startStream()
        exchange.onClosed = { [weak changed = keyspace.changed] in changed?.signal() }
        while !exchange.isClosed, !node.isStopping, query.left > 0, !keyspace.isClosed {
            do {
                let page = try await page(keyspace, &query)
                if page.isEmpty {
                    let seen = keyspace.lastSequence
                    if seen <= query.since { await keyspace.changed.wait(secondsMax: query.heartbeatSeconds) }
                    if keyspace.lastSequence == seen { await exchange.send([UInt8(ascii: "\n")]) }
                    continue
                }
                for row in page { await exchange.send(row + [UInt8(ascii: "\n")]) }
            } catch {
                return exchange.breakStream()
            }
        }
        await exchange.send(Array("{\"last_seq\":\(query.since)}\n".utf8))
        exchange.endStream()
    }

    /// The next rows, and moves the query behind them.
    private func page(_ keyspace: Keyspace, _ query: inout ChangesQuery) async throws -> [[UInt8]] {
        let limit = min(query.left, NodeLimits.pageRows)
        let current = query
        let (rows, last) = try await keyspace.read { snapshot -> ([(UInt64, [UInt8])], UInt64) in
            let rows = try snapshot.changes(since: current.since, limit: limit).map { change in
                let body =
                    current.includesBodies ? try snapshot.document(change.id, revision: change.winner.revision) : nil
                return (change.sequence, Self.row(change, body, allLeaves: current.allLeaves))
            }
            return (rows, try snapshot.lastSequence)
        }
        query.left -= rows.count
        // The store may skip sequences: an empty page ends at the last one, or the feed would ask for it for ever.
        query.since = rows.last?.0 ?? max(query.since, last)
        return rows.map(\.1)
    }

    private nonisolated static func row(_ change: Change, _ document: StoredDocument?, allLeaves: Bool) -> [UInt8] {
        var bytes = Array("{\"seq\":\(change.sequence),\"id\":".utf8)
        JSONValue.append(change.id.text, to: &bytes)
        let leaves = allLeaves ? change.leaves : [change.winner]
        let revisions = leaves.map { "{\"rev\":\"\($0.revision)\"}" }.joined(separator: ",")
        bytes.append(contentsOf: ",\"changes\":[\(revisions)]".utf8)
        if change.winner.isDeleted { bytes.append(contentsOf: ",\"deleted\":true".utf8) }
        if let document {
            bytes.append(contentsOf: ",\"doc\":".utf8)
            bytes.append(contentsOf: RESTDocument.text(document, withConflicts: false))
        }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }
}
