import KithDocuments
import KithTrust

/// An index as a program names it for `_find`: a document of language `query`, as CouchDB keeps it, so that it replicates with it.
///
/// Nothing is made of it here yet: `_find` looks at every document and says so.
struct IndexDefinition: Sendable {
    /// The design document, with `_design/`.
    let document: DocumentID
    let name: String
    /// What the index is of: `{"fields": [{"a": "asc"}, …]}`, with `partial_filter_selector` where there is one.
    let definition: JSONValue

    /// Reads the body of `POST /DATABASE/_index`.
    ///
    /// - Throws: `.badRequest`, naming what is wrong; 501 for a kind of index that is not known here.
    init(_ object: JSONObject) throws {
        if let type = object["type"], type.stringValue != "json" {
            throw CouchDBError.notServed("indexes of type \(type.canonicalText().prefix(50)) are not known here")
        }
        guard let index = object["index"]?.objectValue, let fields = index["fields"]?.arrayValue, !fields.isEmpty else {
            throw CouchDBError(
                "bad_request", KithError(.badRequest, "index must be an object with a list of fields"))
        }
        guard fields.count <= NodeLimits.indexFieldsMax else {
            throw KithError(.badRequest, "an index has at most \(NodeLimits.indexFieldsMax) fields")
        }
        var definition = JSONObject()
        definition["fields"] = .array(try fields.map(Self.field))
        if let filter = index["partial_filter_selector"] ?? object["partial_filter_selector"] {
            _ = try Selector(filter)
            definition["partial_filter_selector"] = filter
        }
        self.definition = .object(definition)
        // One that is asked for twice without a name is the same.
        let digest = String(ContentDigest.hex(self.definition.canonicalBytes()).prefix(40))
        name = try Self.text(object["name"], "name") ?? digest
        let text = try Self.text(object["ddoc"], "ddoc") ?? digest
        document = try DocumentID(text.hasPrefix("_design/") ? text : "_design/" + text)
    }

    private init(document: DocumentID, name: String, definition: JSONValue) {
        (self.document, self.name, self.definition) = (document, name, definition)
    }

    /// The indexes that a design document has; none where it is of another language.
    static func all(in body: JSONValue, of document: DocumentID) -> [IndexDefinition] {
        guard body["language"]?.stringValue == "query" else { return [] }
        return (body["views"]?.objectValue ?? [:]).map { name, view in
            var definition = JSONObject()
            definition["fields"] = .array(
                (view["map"]?["fields"]?.objectValue ?? [:]).map { JSONValue(object: [($0, $1)]) })
            if let listed = view["options"]?["def"]?["fields"]?.arrayValue {
                definition["fields"] = .array(listed.map { (try? Self.field($0)) ?? $0 })
            }
            if let filter = view["map"]?["partial_filter_selector"], filter != .object([:]) {
                definition["partial_filter_selector"] = filter
            }
            return IndexDefinition(document: document, name: name, definition: .object(definition))
        }
    }

    /// The design document with this index in it.
    ///
    /// - Parameter body: what it has so far.
    /// - Returns: nil when the index is in it already.
    /// - Throws: `.badRequest` for a design document of another language.
    func added(to body: JSONValue?) throws(KithError) -> JSONValue? {
        var new = body?.objectValue ?? [:]
        if body != nil, body?["language"]?.stringValue != "query" {
            throw KithError(.badRequest, "\(document) is a design document of another language")
        }
        if let views = new["views"], views.objectValue == nil {
            throw KithError(.badRequest, "views of \(document) is no object")
        }
        if let body, Self.all(in: body, of: document).contains(where: { $0.has(name) && $0.definition == definition }) {
            return nil
        }
        var map = JSONObject()
        var fields = JSONObject()
        for field in definition["fields"]?.arrayValue ?? [] {
            for (name, direction) in field.objectValue ?? [:] { fields[name] = direction }
        }
        map["fields"] = .object(fields)
        map["partial_filter_selector"] = definition["partial_filter_selector"] ?? .object([:])
        var views = new["views"]?.objectValue ?? [:]
        views[name] = JSONValue(object: [
            ("map", .object(map)), ("options", JSONValue(object: [("def", definition)])), ("reduce", "_count"),
        ])
        new["language"] = "query"
        new["views"] = .object(views)
        return .object(new)
    }

    func has(_ name: String) -> Bool { name.utf8.elementsEqual(self.name.utf8) }

    var json: JSONValue {
        JSONValue(object: [
            ("ddoc", .string(document.text)), ("name", .string(name)), ("type", "json"), ("partitioned", false),
            ("def", definition),
        ])
    }

    private static func field(_ value: JSONValue) throws -> JSONValue {
        if let name = value.stringValue { return JSONValue(object: [(name, "asc")]) }
        if let object = value.objectValue, object.count == 1, let direction = object.first?.value.stringValue,
            direction == "asc" || direction == "desc"
        {
            return value
        }
        throw KithError(.badRequest, "a field of an index is a name, or an object of a name with asc or desc")
    }

    private static func text(_ value: JSONValue?, _ name: String) throws -> String? {
        guard let value, value != .null else { return nil }
        guard let text = value.stringValue, !text.isEmpty else {
            throw KithError(.badRequest, "\(name) of an index must be a text")
        }
        return text
    }
}
