import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// What `_all_docs` is asked for, in the query or, with `POST`, in the body.
    private struct ListQuery: Sendable {
        var range = DocumentRange()
        /// Whether no document can be in the range.
        var isEmpty = false
        var keys: [JSONValue]?
        var left = Int.max
        var skip = 0
        var includesBodies = false
        var view = DocumentView()
        var showsSequence = false

        init(_ request: RESTRequest, designDocumentsOnly: Bool) throws {
            var options = JSONObject()
            let texts = [
                "key", "keys", "startkey", "start_key", "endkey", "end_key", "limit", "skip", "descending",
                "inclusive_end", "include_docs", "update_seq",
            ]
            for name in texts {
                guard let text = request.query[name] else { continue }
                // Plain text is taken for a key as well.
                options[name] = (try? JSONValue(parsing: Array(text.utf8))) ?? .string(text)
            }
            if request.method == "POST" {
                for (name, value) in try request.jsonObject() { options[name] = value }
            }
            view = try DocumentView(request)
            view.showsHistory = false
            view.showsHistoryStatus = false
            try read(options)
            guard designDocumentsOnly else { return }
            if range.lowest.map({ $0.utf8.lexicographicallyPrecedes("_design/".utf8) }) ?? true {
                range.lowest = "_design/"
            }
            if range.highest.map({ "_design0".utf8.lexicographicallyPrecedes($0.utf8) }) ?? true {
                range.highest = "_design0"
                range.includesHighest = false
            }
        }

        private mutating func read(_ options: JSONObject) throws(KithError) {
            func flag(_ name: String) throws(KithError) -> Bool? {
                guard let value = options[name] else { return nil }
                guard let flag = value.boolValue else { throw KithError(.badRequest, "\(name) must be true or false") }
                return flag
            }
            func count(_ name: String) throws(KithError) -> Int? {
                guard let value = options[name] else { return nil }
                guard let count = value.intValue, count >= 0 else {
                    throw KithError(.badRequest, "\(name) must be a whole number from 0")
                }
                return count
            }
            left = try count("limit") ?? .max
            skip = try count("skip") ?? 0
            includesBodies = try flag("include_docs") ?? false
            showsSequence = try flag("update_seq") ?? false
            range.isDescending = try flag("descending") ?? false
            let includesEnd = try flag("inclusive_end") ?? true
            if let value = options["keys"] {
                guard let keys = value.arrayValue else { throw KithError(.badRequest, "`keys` must be an array") }
                self.keys = keys
            }
            if let key = options["key"] {
                bound(key, isLowest: true, includes: true)
                bound(key, isLowest: false, includes: true)
                if key.stringValue == nil { isEmpty = true }
            }
            if let start = options["startkey"] ?? options["start_key"] {
                bound(start, isLowest: !range.isDescending, includes: true)
            }
            if let end = options["endkey"] ?? options["end_key"] {
                bound(end, isLowest: range.isDescending, includes: includesEnd)
            }
        }

        /// Takes a key as a bound: in CouchDB's order numbers and the like come before every text, arrays and objects after.
        private mutating func bound(_ key: JSONValue, isLowest: Bool, includes: Bool) {
            switch key {
            case .string(let text):
                if isLowest {
                    (range.lowest, range.includesLowest) = (text, includes)
                } else {
                    (range.highest, range.includesHighest) = (text, includes)
                }
            case .array, .object: if isLowest { isEmpty = true }
            default: if !isLowest { isEmpty = true }
            }
        }
    }

    /// `/DATABASE/_all_docs` and `_design_docs`: documents in the order of their IDs, in pages, so that memory does not
    /// grow with the database; or those that `keys` names, in its order.
    func allDocuments(_ exchange: RESTExchange, _ keyspace: Keyspace, designDocumentsOnly: Bool = false) async throws {
        var query = try ListQuery(exchange.request, designDocumentsOnly: designDocumentsOnly)
        let (total, sequence) = try await keyspace.read { (try $0.documentCount, try $0.lastSequence) }
        exchange.startStream()
        let shownSequence = query.showsSequence ? ",\"update_seq\":\(sequence)" : ""
        await exchange.send(
            Array("{\"total_rows\":\(total),\"offset\":\(query.skip)\(shownSequence),\"rows\":[\n".utf8))
        do {
            if let keys = query.keys {
                try await sendRows(of: keys, query, exchange, keyspace)
            } else if !query.isEmpty {
                try await sendRows(&query, exchange, keyspace)
            }
        } catch {
            // The head is sent: only cutting it off tells the client that this is not all.
            return exchange.breakStream()
        }
        await exchange.send(Array("\n]}\n".utf8))
        exchange.endStream()
    }

    private func sendRows(_ query: inout ListQuery, _ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        var isFirst = true
        while query.left > 0, !exchange.isClosed {
            let current = query
            let isBegun = !isFirst
            let page = try await keyspace.read { snapshot in
                try Self.page(current, snapshot, continuesList: isBegun)
            }
            try await exchange.send(page.content, from: keyspace)
            if !page.content.isEmpty { isFirst = false }
            query.left -= page.rowCount
            query.skip -= page.skippedCount
            guard let last = page.last else { break }
            if query.range.isDescending {
                (query.range.highest, query.range.includesHighest) = (last.text, false)
            } else {
                (query.range.lowest, query.range.includesLowest) = (last.text, false)
            }
        }
    }

    private struct Page: Sendable {
        var content = RESTContent()
        var rowCount = 0
        var skippedCount = 0
        /// Where the next page begins; nil when there is none.
        var last: DocumentID?
    }

    private nonisolated static func page(
        _ query: ListQuery, _ snapshot: Snapshot, continuesList: Bool
    ) throws -> Page {
        let limit = query.skip > 0 ? NodeLimits.pageRows : min(query.left, NodeLimits.pageRows)
        var page = Page()
        let documents = try snapshot.allDocuments(in: query.range, limit: limit, bodies: false)
        for document in documents {
            page.last = document.id
            if page.skippedCount < query.skip {
                page.skippedCount += 1
                continue
            }
            guard page.rowCount < query.left else { break }
            if continuesList || page.rowCount > 0 { page.content.append(",\n") }
            try append(document, query, snapshot, to: &page.content)
            page.rowCount += 1
            if page.content.heldByteCount >= NodeLimits.pageBytesMax { return page }
        }
        if documents.count < limit { page.last = nil }
        return page
    }

    private nonisolated static func append(
        _ document: StoredDocument, _ query: ListQuery, _ snapshot: Snapshot, to content: inout RESTContent
    ) throws {
        content.append("{\"id\":")
        content.append(jsonString: document.id.text)
        content.append(",\"key\":")
        content.append(jsonString: document.id.text)
        content.append(",\"value\":{\"rev\":\"")
        content.append(document.revision)
        content.append(document.isDeleted ? "\",\"deleted\":true}" : "\"}")
        if query.includesBodies {
            content.append(",\"doc\":")
            if !document.isDeleted, let whole = try snapshot.document(document.id) {
                try query.view.append(whole, snapshot, to: &content)
            } else {
                content.append("null")
            }
        }
        content.append("}")
    }

    private func sendRows(
        of keys: [JSONValue], _ query: ListQuery, _ exchange: RESTExchange, _ keyspace: Keyspace
    ) async throws {
        let ordered = query.range.isDescending ? Array(keys.reversed()) : keys
        let wanted = ordered.dropFirst(query.skip).prefix(query.left)
        var next = wanted.startIndex
        while next < wanted.endIndex, !exchange.isClosed {
            let rest = wanted[next...].prefix(NodeLimits.pageRows)
            let first = wanted.startIndex
            let (content, count) = try await keyspace.read { snapshot in
                var content = RESTContent()
                var count = 0
                for key in rest where content.heldByteCount < NodeLimits.pageBytesMax {
                    if rest.startIndex + count > first { content.append(",\n") }
                    count += 1
                    let id = key.stringValue.flatMap { try? DocumentID($0) }
                    if let id, let document = try snapshot.document(id) {
                        try Self.append(document, query, snapshot, to: &content)
                    } else {
                        content.append("{\"key\":")
                        content.append(json: key)
                        content.append(",\"error\":\"not_found\"}")
                    }
                }
                return (content, count)
            }
            try await exchange.send(content, from: keyspace)
            next += count
        }
    }
}
