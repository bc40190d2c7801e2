import CLinux
import Glibc
import KithDocuments
import KithStore

/// A document as REST writes it: the body with `_id`, `_rev` and `_deleted` in it.
struct RESTDocument: Sendable {
    var id: DocumentID?
    var revision: RevisionID?
    var isDeleted = false
    /// The ancestors of the revision, newest first, when they were told (`_revisions`).
    var history: [RevisionID] = []
    /// What `_attachments` said: all attachments of the revision.
    var attachments: [IncomingAttachment] = []
    /// When the document shall go away by itself, when it was told (`_exp`).
    var expiry: Expiry?
    /// The canonical body without the reserved names.
    var body: [UInt8]

    /// Reads the text of a request.
    ///
    /// - Throws: `.badDocument` or `.tooLarge`, saying what cannot be kept and where.
    init(parsing bytes: [UInt8]) throws(KithError) {
        let parts = try CanonicalJSON.split(bytes)
        id = parts.id
        revision = parts.revision
        isDeleted = parts.isDeleted
        history = parts.history ?? []
        attachments = parts.attachments ?? []
        expiry = parts.expiry
        body = parts.body
    }

    /// Reads one document of a list.
    init(_ value: JSONValue) throws(KithError) {
        guard value.objectValue != nil else { throw KithError(.badDocument, "a document must be a JSON object") }
        try self.init(parsing: value.canonicalBytes())
    }

    /// An ID for a document that came without one: 32 hex digits of randomness, as CouchDB makes them.
    static func newID() -> String {
        (0..<16).map { _ in
            let byte = UInt8.random(in: 0...255)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// A stored document as text: `_id` and `_rev` first, then the body.
    static func text(_ document: StoredDocument, withConflicts: Bool) -> [UInt8] {
        var bytes = Array("{\"_id\":".utf8)
        JSONValue.append(document.id.text, to: &bytes)
        bytes.append(contentsOf: ",\"_rev\":\"\(document.revision)\"".utf8)
        if document.isDeleted { bytes.append(contentsOf: ",\"_deleted\":true".utf8) }
        let conflicts = withConflicts ? document.conflicts : []
        if !conflicts.isEmpty {
            let list = conflicts.map { "\"\($0)\"" }.joined(separator: ",")
            bytes.append(contentsOf: ",\"_conflicts\":[\(list)]".utf8)
        }
        if !document.attachments.isEmpty {
            bytes.append(contentsOf: ",\"_attachments\":".utf8)
            bytes.append(contentsOf: document.attachments.canonicalBytes())
        }
        if document.body.count > 2 {
            bytes.append(UInt8(ascii: ","))
            bytes.append(contentsOf: document.body.dropFirst())
        } else {
            bytes.append(UInt8(ascii: "}"))
        }
        return bytes
    }

    /// One row of `_all_docs`.
    static func appendRow(_ document: StoredDocument, withBody: Bool, withConflicts: Bool, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: "{\"id\":".utf8)
        JSONValue.append(document.id.text, to: &bytes)
        bytes.append(contentsOf: ",\"key\":".utf8)
        JSONValue.append(document.id.text, to: &bytes)
        bytes.append(contentsOf: ",\"value\":{\"rev\":\"\(document.revision)\"}".utf8)
        if withBody {
            bytes.append(contentsOf: ",\"doc\":".utf8)
            bytes.append(contentsOf: text(document, withConflicts: withConflicts))
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
