import KithDocuments
import KithStore
import KithTransport

/// Queries with selectors. There is no index yet: every document is looked at, which each answer says.
extension RESTRouter {
    private static let warning =
        "No matching index found: every document was looked at, which takes longer the more there are."

    private struct Found: Sendable {
        /// What puts it in order.
        var keys: [JSONValue] = []
        var content = RESTContent()
        /// Bytes of both.
        var heldByteCount = 0
    }

    private struct FindPage: Sendable {
        var results: [Found] = []
        /// Results that were left out at the beginning.
        var skipped = 0
        var looked = 0
        /// The last document that was looked at.
        var last: DocumentID?
        var isLast = false
    }

    /// `POST /DATABASE/_find`.
    func find(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let request = try FindRequest(exchange.request.jsonObject())
        let began = EventLoop.monotonicNanoseconds
        if !request.sort.isEmpty { return try await findSorted(request, exchange, keyspace, began) }
        _ = try await keyspace.read { try $0.lastSequence }
        exchange.startStream()
        await exchange.send(Array("{\"docs\":[\n".utf8))
        var after: DocumentID?
        if case .after(let id) = request.bookmark { after = id }
        var (count, skip, looked) = (0, request.skip, 0)
        do {
            while count < request.limit, !exchange.isClosed {
                let (begin, left, toSkip) = (after, request.limit - count, skip)
                let page = try await keyspace.read { snapshot in
                    try Self.page(request, snapshot, after: begin, skip: toSkip, limit: left)
                }
                for result in page.results {
                    if count > 0 { await exchange.send(Array(",\n".utf8)) }
                    try await exchange.send(result.content, from: keyspace)
                    count += 1
                }
                skip -= page.skipped
                looked += page.looked
                after = page.last ?? after
                if page.isLast { break }
            }
        } catch {
            return exchange.breakStream()
        }
        let bookmark = after.map { FindRequest.Bookmark.after($0) } ?? .start
        await exchange.send(Array(Self.end(request, bookmark, looked, count, began).utf8))
        exchange.endStream()
    }

    /// With `sort` all results are held to be put in order, within limits.
    private func findSorted(
        _ request: FindRequest, _ exchange: RESTExchange, _ keyspace: Keyspace, _ began: UInt64
    ) async throws {
        var results: [Found] = []
        var (after, looked, bytes): (DocumentID?, Int, Int) = (nil, 0, 0)
        while !exchange.isClosed {
            let begin = after
            let page = try await keyspace.read { snapshot in
                try Self.page(request, snapshot, after: begin, skip: 0, limit: .max)
            }
            results += page.results
            bytes += page.results.reduce(0) { $0 + $1.heldByteCount }
            looked += page.looked
            guard results.count <= NodeLimits.sortedDocumentsMax, bytes <= NodeLimits.sortedBytesMax else {
                throw CouchDBError(
                    "no_usable_index",
                    KithError(
                        .badRequest,
                        "No index exists for this sort, and more than \(NodeLimits.sortedDocumentsMax) documents or "
                            + "\(NodeLimits.sortedBytesMax) bytes are not sorted without one",
                        remedy: "Narrow the selector, or leave sort out"))
            }
            guard !page.isLast, let last = page.last else { break }
            after = last
        }
        results = await Self.sorted(results, request)
        var skip = request.skip
        if case .count(let count) = request.bookmark { skip += count }
        let shown = results.dropFirst(skip).prefix(request.limit)
        var content = RESTContent(Array("{\"docs\":[\n".utf8))
        for (index, result) in shown.enumerated() {
            if index > 0 { content.append(",\n") }
            content.append(result.content)
        }
        let bookmark = shown.isEmpty ? request.bookmark : .count(skip + shown.count)
        content.append(Self.end(request, bookmark, looked, shown.count, began))
        await exchange.respond(200, content, from: keyspace)
    }

    /// In the order that was asked for; not on the loop, since it may take a while.
    private nonisolated static func sorted(_ results: [Found], _ request: FindRequest) async -> [Found] {
        await EventLoop.beside {
            results.sorted { one, other in
                for (place, key) in request.sort.enumerated() {
                    let order = JSONCollation.order(one.keys[place], other.keys[place])
                    if order != 0 { return key.isDescending ? order > 0 : order < 0 }
                }
                return false
            }
        }
    }

    private static func end(
        _ request: FindRequest, _ bookmark: FindRequest.Bookmark, _ looked: Int, _ count: Int, _ began: UInt64
    ) -> String {
        var text = "\n],\"bookmark\":\"\(bookmark.text)\",\"warning\":\"\(warning)\""
        if request.showsStatistics {
            let milliseconds = (EventLoop.monotonicNanoseconds - began) / 1_000_000
            text += ",\"execution_stats\":{\"total_keys_examined\":0,\"total_docs_examined\":\(looked)"
            text += ",\"total_quorum_docs_examined\":0,\"results_returned\":\(count)"
            text += ",\"execution_time_ms\":\(milliseconds)}"
        }
        return text + "}\n"
    }

    private nonisolated static func page(
        _ request: FindRequest, _ snapshot: Snapshot, after: DocumentID?, skip: Int, limit: Int
    ) throws -> FindPage {
        var page = FindPage()
        var bytes = 0
        let deadline = EventLoop.monotonicNanoseconds + NodeLimits.pageNanosecondsMax
        let rows = try snapshot.allDocuments(after: after, limit: NodeLimits.pageRows)
        for row in rows {
            guard page.results.count < limit, bytes < NodeLimits.pageBytesMax,
                page.looked == 0 || EventLoop.monotonicNanoseconds < deadline
            else { return page }
            page.last = row.id
            page.looked += 1
            guard !row.id.isDesignDocument, let document = try snapshot.document(row.id),
                request.selector.matches(document), let keys = sortKeys(request, document)
            else { continue }
            guard page.skipped >= skip else {
                page.skipped += 1
                continue
            }
            let content = try content(document, request, snapshot)
            let held = keys.reduce(content.heldByteCount) { $0 + $1.canonicalBytes().count }
            bytes += held
            page.results.append(Found(keys: keys, content: content, heldByteCount: held))
        }
        page.isLast = rows.count < NodeLimits.pageRows
        return page
    }

    /// What puts a document in order; nil for one that lacks a field of the order, which is not listed then.
    private nonisolated static func sortKeys(_ request: FindRequest, _ document: StoredDocument) -> [JSONValue]? {
        guard !request.sort.isEmpty else { return [] }
        var value = JSONValue(canonical: document.body)
        value["_id"] = .string(document.id.text)
        let keys = request.sort.compactMap { Selector.value(at: $0.path, of: value) }
        return keys.count == request.sort.count ? keys : nil
    }

    private nonisolated static func content(
        _ document: StoredDocument, _ request: FindRequest, _ snapshot: Snapshot
    ) throws -> RESTContent {
        var view = DocumentView()
        view.showsConflicts = request.showsConflicts
        let whole = try view.content(document, snapshot)
        guard !request.fields.isEmpty, case .bytes(let text)? = whole.all.first else { return whole }
        let value = try JSONValue(parsing: text)
        var shown = JSONValue.object(JSONObject())
        for path in request.fields {
            guard let found = Selector.value(at: path, of: value) else { continue }
            set(found, at: path[...], in: &shown)
        }
        return RESTContent(shown.canonicalBytes())
    }

    private nonisolated static func set(_ value: JSONValue, at path: ArraySlice<String>, in object: inout JSONValue) {
        guard let name = path.first else { return object = value }
        var inner = object[name] ?? .object(JSONObject())
        // What is shown whole already, such as an array, has its elements.
        guard path.count == 1 || inner.objectValue != nil else { return }
        set(value, at: path.dropFirst(), in: &inner)
        object[name] = inner
    }

    // MARK: What there is to say about a query

    /// `POST /DATABASE/_explain`.
    func explainFind(_ exchange: RESTExchange, _ name: KeyspaceName) throws {
        let request = try FindRequest(exchange.request.jsonObject())
        let fields: JSONValue =
            request.fields.isEmpty
            ? "all_fields" : .array(request.fields.map { .string($0.joined(separator: ".")) })
        exchange.respond(
            HTTPAnswer(
                200,
                JSONValue(object: [
                    ("dbname", .string(name.text)), ("index", Self.allDocumentsIndex),
                    ("selector", request.selectorText), ("limit", JSONValue(request.limit)),
                    ("skip", JSONValue(request.skip)), ("fields", fields), ("covering", false), ("opts", [:]),
                    ("warning", .string(Self.warning)),
                ])))
    }
}
