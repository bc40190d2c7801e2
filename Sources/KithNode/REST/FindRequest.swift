import KithDocuments

/// A query of `_find`.
struct FindRequest: Sendable {
    struct SortKey: Sendable {
        let path: [String]
        let isDescending: Bool
    }

    let selector: Selector
    let selectorText: JSONValue
    let limit: Int
    let skip: Int
    let sort: [SortKey]
    /// Fields to be shown; all where none are named.
    let fields: [[String]]
    let showsConflicts: Bool
    let showsStatistics: Bool
    /// Where an earlier answer ended.
    let bookmark: Bookmark

    enum Bookmark: Sendable {
        case start
        /// Behind this document, in the order of IDs.
        case after(DocumentID)
        /// Behind so many results in the order that was asked for.
        case count(Int)

        var text: String {
            switch self {
            case .start: "nil"
            case .after(let id): "i" + Hexadecimal.text(id.text.utf8)
            case .count(let count): "n\(count)"
            }
        }

        init?(_ text: String) {
            if text == "nil" || text.isEmpty {
                self = .start
            } else if text.hasPrefix("n"), let count = Int(text.dropFirst()), count >= 0 {
                self = .count(min(count, NodeLimits.findCountMax))
            } else if text.hasPrefix("i"), let bytes = Hexadecimal.bytes(text.dropFirst()),
                let id = try? DocumentID(utf8: bytes)
            {
                self = .after(id)
            } else {
                return nil
            }
        }
    }

    /// Reads the body of a request.
    ///
    /// - Throws: `.badRequest`, naming what is wrong.
    init(_ object: JSONObject) throws {
        guard let selector = object["selector"] else {
            throw CouchDBError("missing_required_key", KithError(.badRequest, "Missing required key: selector"))
        }
        selectorText = selector
        self.selector = try Selector(selector)
        limit = try Self.count(object, "limit") ?? NodeLimits.findLimitDefault
        skip = try Self.count(object, "skip") ?? 0
        sort = try Self.sort(object["sort"])
        fields = try Self.fields(object["fields"])
        showsConflicts = try Self.flag(object, "conflicts")
        showsStatistics = try Self.flag(object, "execution_stats")
        switch object["bookmark"] {
        case nil, .null?: bookmark = .start
        case let value?:
            guard let bookmark = value.stringValue.flatMap(Bookmark.init) else {
                throw CouchDBError("invalid_bookmark", KithError(.badRequest, "Invalid bookmark value"))
            }
            self.bookmark = bookmark
        }
        let isOfOtherOrder =
            switch bookmark {
            case .start: false
            case .after: !sort.isEmpty
            case .count: sort.isEmpty
            }
        guard !isOfOtherOrder else {
            throw CouchDBError(
                "invalid_bookmark", KithError(.badRequest, "The bookmark is one of a query with another sort"))
        }
    }

    private static func count(_ object: JSONObject, _ name: String) throws(KithError) -> Int? {
        guard let value = object[name] else { return nil }
        guard let count = value.intValue, count >= 0 else {
            throw KithError(.badRequest, "\(name) must be a whole number from 0")
        }
        return min(count, NodeLimits.findCountMax)
    }

    private static func flag(_ object: JSONObject, _ name: String) throws(KithError) -> Bool {
        guard let value = object[name] else { return false }
        guard let flag = value.boolValue else { throw KithError(.badRequest, "\(name) must be true or false") }
        return flag
    }

    private static func sort(_ value: JSONValue?) throws(KithError) -> [SortKey] {
        guard let value, value != .null else { return [] }
        let refusal = KithError(
            .badRequest, "sort must be a list of fields, each a name or {name: \"asc\" or \"desc\"}")
        guard let items = value.arrayValue else { throw refusal }
        guard items.count <= NodeLimits.sortFieldsMax else {
            throw KithError(.badRequest, "sort has more than \(NodeLimits.sortFieldsMax) fields")
        }
        return try items.map { item throws(KithError) in
            if let name = item.stringValue { return SortKey(path: try Selector.path(name), isDescending: false) }
            guard let object = item.objectValue, object.count == 1, let direction = object[0].value.stringValue,
                direction == "asc" || direction == "desc"
            else { throw refusal }
            return SortKey(path: try Selector.path(object[0].name), isDescending: direction == "desc")
        }
    }

    private static func fields(_ value: JSONValue?) throws(KithError) -> [[String]] {
        // CouchDB's own default is the text "all_fields".
        guard let value, value != .null, value != "all_fields" else { return [] }
        guard let items = value.arrayValue else { throw KithError(.badRequest, "fields must be a list of names") }
        var nameCount = 0
        return try items.map { item throws(KithError) in
            guard let name = item.stringValue else { throw KithError(.badRequest, "fields must be a list of names") }
            let path = try Selector.path(name)
            nameCount += path.count
            guard nameCount <= NodeLimits.selectorPartsMax else {
                throw KithError(.badRequest, "fields has more than \(NodeLimits.selectorPartsMax) names")
            }
            return path
        }
    }
}
