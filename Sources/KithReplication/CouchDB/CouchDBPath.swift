import KithDocuments

/// Paths below a database of CouchDB.
enum CouchDBPath {
    /// The path of a document. The slash of a design document stands for itself, which every server understands.
    static func document(_ id: DocumentID) -> String {
        let text = id.text
        guard text.utf8.starts(with: design.utf8) else { return "/" + PercentEncoding.text(text) }
        return "/" + design + PercentEncoding.text(String(text.utf8.dropFirst(design.utf8.count)) ?? "")
    }

    /// A query item of which the value is JSON.
    static func json(_ name: String, _ value: JSONValue) -> String {
        name + "=" + PercentEncoding.text(String(decoding: value.canonicalBytes(), as: UTF8.self))
    }

    /// `since`: a position as the server gave it. One that is a text goes as it is.
    static func since(_ position: JSONValue) -> String {
        if let text = position.stringValue { return "since=" + PercentEncoding.text(text) }
        return json("since", position)
    }

    /// Names of revisions as a JSON array.
    static func list(_ revisions: [RevisionID]) -> JSONValue {
        .array(revisions.map { .string($0.description) })
    }

    private static let design = "_design/"
}
