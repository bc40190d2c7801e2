import KithDocuments
import KithStore

/// A document as CouchDB's replication has it, with its history in `_revisions`.
enum CouchDBDocument {
    /// Adds a document with these attachments.
    ///
    /// - Parameters:
    ///   - known: what the server may have of it, so that its branch joins.
    ///   - max: the length of the history.
    ///   - attachments: the value of `_attachments` as JSON, if there is one.
    static func append(
        _ revision: RevisionForTransfer, knowing known: [RevisionID], max: Int, attachments: [UInt8] = [],
        to output: inout [UInt8]
    ) {
        let history = SentHistory.withoutGaps(of: revision, known: known, max: max)
        let ids = JSONValue.array(([revision.revision] + history).map { .string($0.digest) })
        output.append(contentsOf: "{\"_id\":".utf8)
        output.append(contentsOf: JSONValue.string(revision.id.text).canonicalBytes())
        output.append(contentsOf: ",\"_rev\":\"\(revision.revision)\",\"_revisions\":{\"ids\":".utf8)
        output.append(contentsOf: ids.canonicalBytes())
        output.append(contentsOf: ",\"start\":\(revision.revision.generation)}".utf8)
        if revision.isDeleted { output.append(contentsOf: ",\"_deleted\":true".utf8) }
        if !attachments.isEmpty {
            output.append(contentsOf: ",\"_attachments\":".utf8)
            output.append(contentsOf: attachments)
        }
        if revision.body.count > 2 {
            output.append(UInt8(ascii: ","))
            output.append(contentsOf: revision.body.dropFirst())
        } else {
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Reads a document that came, without its attachments.
    ///
    /// - Throws: `.badDocument` and others when this node does not keep it.
    static func parse(_ bytes: UnsafeRawBufferPointer, of id: DocumentID) throws(KithError) -> DocumentParts {
        let parts = try CanonicalJSON.split(bytes)
        guard parts.id == id, parts.revision != nil else {
            throw KithError(.protocolViolation, "the server answered another document than was asked for")
        }
        return parts
    }
}
