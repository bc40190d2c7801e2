import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// `/DATABASE/_changes`. Whoever waits for a change costs a continuation and a timer.
    func changes(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        // A collection that is not there is an answer of its own, and not a stream that breaks off.
        let last = try await keyspace.read { try $0.lastSequence }
        var request = try ChangesRequest(exchange.request, last: last)
        exchange.dropBody()
        exchange.onClosed = { [weak changed = keyspace.changed] in changed?.signal() }
        do {
            switch request.feed {
            case .normal, .longpoll: try await listChanges(exchange, keyspace, &request)
            case .continuous, .eventsource: try await followChanges(exchange, keyspace, &request)
            }
        } catch {
            guard exchange.hasBegun else { throw error }
            exchange.breakStream()
        }
    }

    private func listChanges(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ request: inout ChangesRequest
    ) async throws {
        exchange.startStream()
        await exchange.send(Array("{\"results\":[\n".utf8))
        var isFirst = true
        // Only one that waits for what comes may be asked again.
        var waits = request.feed == .longpoll && !request.isDescending
        let deadline = Self.deadline(request)
        while request.left > 0, !exchange.isClosed {
            let page = try await page(keyspace, request, continuesList: !isFirst)
            take(page, &request)
            try await exchange.send(page.content, from: keyspace)
            await beat(exchange, request)
            if page.rowCount > 0 {
                isFirst = false
                waits = false
            }
            guard page.isLast else { continue }
            guard waits, await waitForChange(exchange, keyspace, request, until: deadline) else { break }
        }
        let last = request.isDescending ? try await keyspace.read { try $0.lastSequence } : request.since
        let pending = request.isDescending ? 0 : try await keyspace.read { try $0.pendingCount(since: last) }
        await exchange.send(Array("\n],\"last_seq\":\(last),\"pending\":\(pending)}\n".utf8))
        exchange.endStream()
    }

    private func followChanges(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ request: inout ChangesRequest
    ) async throws {
        let isEvents = request.feed == .eventsource
        exchange.startStream(contentType: isEvents ? "text/event-stream" : "application/json")
        while request.left > 0, !exchange.isClosed {
            let page = try await page(keyspace, request, continuesList: false)
            take(page, &request)
            try await exchange.send(page.content, from: keyspace)
            await beat(exchange, request)
            guard page.isLast else { continue }
            guard await waitForChange(exchange, keyspace, request, until: Self.deadline(request)) else { break }
        }
        if !isEvents { await exchange.send(Array("{\"last_seq\":\(request.since),\"pending\":0}\n".utf8)) }
        exchange.endStream()
    }

    private static func deadline(_ request: ChangesRequest) -> UInt64 {
        EventLoop.monotonicNanoseconds + UInt64(request.timeoutSeconds * 1e9)
    }

    /// Waits until there is a change beyond those that were looked at, with signs of life where they were asked for.
    ///
    /// - Returns: whether there may be one; false when the feed is to end.
    private func waitForChange(
        _ exchange: RESTExchange, _ keyspace: Keyspace, _ request: ChangesRequest, until deadline: UInt64
    ) async -> Bool {
        while keyspace.lastSequence <= request.since {
            guard !exchange.isClosed, !node.isStopping, !keyspace.isClosed else { return false }
            let now = EventLoop.monotonicNanoseconds
            if let heartbeat = request.heartbeatSeconds {
                let next = exchange.lastSentNanoseconds + UInt64(heartbeat * 1e9)
                if now >= next {
                    await beat(exchange, request)
                } else {
                    await keyspace.changed.wait(secondsMax: Double(next - now) / 1e9)
                }
            } else {
                guard now < deadline else { return false }
                await keyspace.changed.wait(secondsMax: Double(deadline - now) / 1e9)
            }
        }
        return true
    }

    /// Gives a sign of life where one is due: also between pages of which a filter leaves nothing.
    private func beat(_ exchange: RESTExchange, _ request: ChangesRequest) async {
        guard let heartbeat = request.heartbeatSeconds,
            EventLoop.monotonicNanoseconds >= exchange.lastSentNanoseconds + UInt64(heartbeat * 1e9)
        else { return }
        await exchange.send(Array((request.feed == .eventsource ? "event: heartbeat\ndata: \n\n" : "\n").utf8))
    }

    // MARK: Pages

    private struct ChangesPage: Sendable {
        var content = RESTContent()
        var rowCount = 0
        /// Up to here all was looked at; with `isDescending`, down to here.
        var reached: UInt64 = 0
        /// Whether nothing is left but what comes later.
        var isLast = true
    }

    private func take(_ page: ChangesPage, _ request: inout ChangesRequest) {
        request.left -= page.rowCount
        if request.isDescending {
            request.through = page.reached > 0 ? page.reached - 1 : 0
        } else {
            request.since = max(request.since, page.reached)
        }
    }

    private func page(
        _ keyspace: Keyspace, _ request: ChangesRequest, continuesList: Bool
    ) async throws -> ChangesPage {
        try await keyspace.read { snapshot in try Self.page(snapshot, request, continuesList) }
    }

    private nonisolated static func page(
        _ snapshot: Snapshot, _ request: ChangesRequest, _ continuesList: Bool
    ) throws -> ChangesPage {
        let isFiltered = request.selector != nil || request.designDocumentsOnly
        var page = ChangesPage()
        // The store may skip sequences: a feed that has seen all is at the last one.
        page.reached = request.isDescending ? request.since : try snapshot.lastSequence
        let limit = min(request.left, NodeLimits.pageRows)
        var looked = 0
        let deadline = EventLoop.monotonicNanoseconds + NodeLimits.pageNanosecondsMax
        var heldBytes = 0
        let query = ChangesQuery(
            since: request.since, through: request.through, limit: isFiltered ? .max : limit + 1,
            isDescending: request.isDescending, style: request.showsAllLeaves ? .allLeaves : .winners,
            documentIDs: request.documentIDs)
        var reached: UInt64?
        try snapshot.forEachChange(query) { change in
            // There is more, and it comes with the next page.
            guard page.rowCount < limit, heldBytes < NodeLimits.pageBytesMax, looked < NodeLimits.filteredRows,
                looked == 0 || EventLoop.monotonicNanoseconds < deadline
            else {
                page.isLast = false
                return false
            }
            looked += 1
            reached = change.sequence
            if request.designDocumentsOnly, !change.id.isDesignDocument { return true }
            var document: StoredDocument?
            if request.includesBodies || request.selector != nil {
                document = try snapshot.document(change.id, revision: change.winner.revision)
            }
            if let selector = request.selector {
                guard let document, selector.matches(document) else { return true }
            }
            if request.feed == .normal || request.feed == .longpoll, continuesList || page.rowCount > 0 {
                page.content.append(",\n")
            }
            try append(change, request.includesBodies ? document : nil, request, snapshot, to: &page.content)
            heldBytes += document?.body.count ?? 0
            page.rowCount += 1
            return true
        }
        if !page.isLast, let reached { page.reached = reached }
        return page
    }

    private nonisolated static func append(
        _ change: Change, _ document: StoredDocument?, _ request: ChangesRequest, _ snapshot: Snapshot,
        to content: inout RESTContent
    ) throws {
        if request.feed == .eventsource { content.append("id: \(change.sequence)\ndata: ") }
        content.append("{\"seq\":\(change.sequence),\"id\":")
        content.append(jsonString: change.id.text)
        content.append(",\"changes\":[")
        for (index, leaf) in (request.showsAllLeaves ? change.leaves : [change.winner]).enumerated() {
            content.append(index > 0 ? ",{\"rev\":\"" : "{\"rev\":\"")
            content.append(leaf.revision)
            content.append("\"}")
        }
        content.append(change.winner.isDeleted ? "],\"deleted\":true" : "]")
        if let document {
            content.append(",\"doc\":")
            try request.view.append(document, snapshot, to: &content)
        }
        switch request.feed {
        case .normal, .longpoll: content.append("}")
        case .continuous: content.append("}\n")
        case .eventsource: content.append("}\n\n")
        }
    }
}
