import KithDocuments

/// Requests that more than one command makes.
extension NodeClient {
    /// A document as the node sends it; `nil` when it, or the revision, is not there.
    func document(_ address: DocumentAddress, revision: String? = nil, withConflicts: Bool = false) throws -> JSONValue?
    {
        var query: [(name: String, value: String)] = []
        if let revision { query.append(("rev", revision)) }
        if withConflicts { query.append(("conflicts", "true")) }
        do {
            return try json(NodeRequest("GET", address.path, query: query))
        } catch let error as KithError where error.code == .notFound {
            let explained = Explanation.of(error, database: address.database, document: address.document)
            if explained.code == .databaseNotFound { throw explained }
            return nil
        }
    }

    /// A database and its named collections, as commands take them; of a collection only itself.
    func keyspaces(of database: String) throws -> [String] {
        guard !database.utf8.contains(UInt8(ascii: ".")) else { return [database] }
        let named = try json(NodeRequest("GET", [database]))["collections"]?.arrayValue ?? []
        return [database] + named.compactMap { $0["name"]?.stringValue }.map { database + "." + $0 }
    }

    /// The revision that a document has now; `nil` when it is not there or deleted.
    func currentRevision(_ address: DocumentAddress) throws -> String? {
        try document(address)?["_rev"]?.stringValue
    }

    /// Calls back with each row of `_all_docs` in the order of the IDs, page by page, until the callback says enough.
    ///
    /// A page begins with the last document of the page before, which is passed over: with `skip` a document deleted
    /// in the meantime would take another one with it.
    func allDocuments(
        in database: String, from startKey: String?, includeDocuments: Bool, pageSize: Int,
        onRow: (_ id: String, _ row: JSONValue) throws -> Verdict
    ) throws {
        var last: String?
        while true {
            var query: [(name: String, value: String)] = [("limit", "\(last == nil ? pageSize : pageSize + 1)")]
            if includeDocuments { query.append(("include_docs", "true")) }
            if let key = last ?? startKey { query.append(("startkey", JSONValue.string(key).canonicalText())) }
            var rows = 0
            var isEnough = false
            var next: String?
            try rowStream(NodeRequest("GET", [database, "_all_docs"], query: query)) { row in
                guard let id = row["id"]?.stringValue else { throw ConnectionFailure.garbage("a row without an ID") }
                rows += 1
                next = id
                if rows == 1, let last, DisplayText.same(last, id) { return .more }
                if case .enough = try onRow(id, row) {
                    isEnough = true
                    return .enough
                }
                return .more
            }
            guard !isEnough, let next, rows >= pageSize else { return }
            last = next
        }
    }

    /// Calls back with each element of the one array in an answer, which is never held whole.
    func rowStream(_ request: NodeRequest, onRow: (JSONValue) throws -> Verdict) throws {
        var splitter = JSONElementSplitter(arrayDepth: 2, elementBytesMax: CommandLimits.documentBytesMax)
        var isEnough = false
        try stream(request) { piece in
            do {
                try splitter.receive(piece) { bytes, _ in
                    if isEnough { return }
                    if case .enough = try onRow(try Self.parse(bytes)) { isEnough = true }
                }
            } catch is JSONElementSplitter.Fault {
                throw ConnectionFailure.garbage("a list that is not JSON")
            }
            return isEnough ? .enough : .more
        }
        if isEnough { return }
        do { try splitter.finish() } catch { throw ConnectionFailure.garbage("a list that is not JSON") }
    }

    /// The document in a row of a list.
    ///
    /// - Throws: `KithError` (protocol_violation) when there is none.
    static func document(in row: JSONValue) throws -> JSONValue {
        guard let document = row["doc"], document.objectValue != nil else {
            throw ConnectionFailure.garbage("a row without a document")
        }
        return document
    }

    /// JSON from the node, which may be a document of the largest size and its names around it.
    static func parse(_ bytes: [UInt8]) throws -> JSONValue {
        do {
            return try JSONValue(parsing: bytes, bytesMax: CommandLimits.documentBytesMax)
        } catch {
            throw ConnectionFailure.garbage("an answer that is not JSON")
        }
    }
}
