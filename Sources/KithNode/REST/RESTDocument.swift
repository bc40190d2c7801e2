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
    /// Bytes of those that followed the document, by the UTF-8 bytes of their names.
    var received: [[UInt8]: Received] = [:]
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

    /// Reads one document of a request.
    init(_ value: JSONValue) throws(KithError) {
        guard value.objectValue != nil else { throw KithError(.badDocument, "a document must be a JSON object") }
        try self.init(parsing: value.canonicalBytes())
    }

    /// Reads the text of a document, and says of what is wrong with it what CouchDB says.
    ///
    /// - Throws: `doc_validation` for a reserved name or a reserved value that is wrong, `illegal_docid`, `bad_request` for
    ///   what is no JSON object.
    static func reading(_ bytes: [UInt8]) throws(CouchDBError) -> RESTDocument {
        do {
            return try RESTDocument(parsing: bytes)
        } catch {
            throw named(error, bytes)
        }
    }

    private static func named(_ error: KithError, _ bytes: [UInt8]) -> CouchDBError {
        guard error.code == .badDocument || error.code == .badName,
            let value = try? JSONValue(parsing: bytes), value.objectValue != nil
        else { return CouchDBError(error) }
        if let id = value["_id"], id.stringValue.flatMap({ try? DocumentID($0) }) == nil {
            return CouchDBError("illegal_docid", error)
        }
        return error.code == .badDocument ? CouchDBError("doc_validation", error) : CouchDBError(error)
    }

    /// An ID for a document that came without one: 32 hex digits of randomness, as CouchDB makes them.
    static func newID() -> String { Hexadecimal.text((0..<16).map { _ in UInt8.random(in: 0...255) }) }
}
