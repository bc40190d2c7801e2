import KithDocuments

/// A database and a document as they were typed, checked before they become part of a path: otherwise
/// `kith delete notes _all_docs` would be another request than the one that was meant.
struct DocumentAddress {
    let database: String
    let document: String

    /// - Throws: `KithError` (bad_name).
    init(database: String, document: String) throws {
        self.database = try Self.checkedDatabase(database)
        if document.utf8.starts(with: "_local/".utf8) {
            guard document.utf8.count > "_local/".utf8.count else {
                throw KithError(.badName, "a local document needs a name after _local/")
            }
            self.document = document
        } else {
            self.document = try DocumentID(document).text
        }
    }

    /// Reads `DB/DOC`; the name of the database ends at the first slash.
    init(parsing text: String) throws {
        guard let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) else {
            throw UsageError("“\(DisplayText.safe(text))” names no document", hint: "Type DB/DOC, or DB DOC")
        }
        try self.init(
            database: String(text[..<slash]), document: String(text[text.utf8.index(after: slash)...]))
    }

    /// How a command that is about one document takes it.
    static let positionals = [
        PositionalSpec("DB/DOC", help: "the document, or its database"),
        PositionalSpec("DOC", isOptional: true, help: "the document's ID, when the database stands alone"),
    ]

    /// The document that such a command is about.
    init(_ arguments: ParsedArguments) throws {
        let first = arguments.positional(0) ?? ""
        if let document = arguments.positional(1) {
            try self.init(database: first, document: document)
        } else {
            try self.init(parsing: first)
        }
    }

    /// The name of a database or of a collection in it, when it is a legal one.
    static func checkedDatabase(_ name: String) throws -> String { try KeyspaceName(name).text }

    /// Where the node has it.
    var path: [String] {
        for prefix in ["_design/", "_local/"] where document.utf8.starts(with: prefix.utf8) {
            let name = String(decoding: document.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
            return [database, String(decoding: prefix.utf8.dropLast(), as: UTF8.self), name]
        }
        return [database, document]
    }

    /// `notes/shopping-list`, safe to show.
    var shown: String { DisplayText.safe(database + "/" + document) }
}
