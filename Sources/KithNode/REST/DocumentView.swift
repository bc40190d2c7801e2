import KithDocuments
import KithStore

/// What of a document a request wants to see beside its body, and how.
struct DocumentView: Sendable {
    enum Attachments: Sendable {
        /// Only what there is to say about them.
        case stubs
        /// In base64, within the document.
        case inline
        /// Behind the document, as parts of their own.
        case following
    }

    /// Revisions of a branch that are told at most.
    private static let historyMax = StoreLimits.revisionsLimitDefault

    /// `revs`: `_revisions`, the branch, with fillers for what is not known of it.
    var showsHistory = false
    /// `revs_info`: the same with what is still there of each revision.
    var showsHistoryStatus = false
    var showsConflicts = false
    var showsDeletedConflicts = false
    var showsSequence = false
    var showsEncoding = false
    var attachments = Attachments.stubs
    /// `atts_since`: attachments that were there in one of these revisions are only told of.
    var attachmentsSince: [RevisionID] = []

    init() {}

    /// Reads what the query of a request says.
    ///
    /// - Throws: `.badRequest`, `.badName`.
    init(_ request: RESTRequest) throws(KithError) {
        let hasAll = try request.flag("meta")
        showsHistory = try request.flag("revs")
        showsHistoryStatus = try request.flag("revs_info") || hasAll
        showsConflicts = try request.flag("conflicts") || hasAll
        showsDeletedConflicts = try request.flag("deleted_conflicts") || hasAll
        showsSequence = try request.flag("local_seq")
        showsEncoding = try request.flag("att_encoding_info")
        if try request.flag("attachments") { attachments = .inline }
        if let since = try request.json("atts_since") { attachmentsSince = try Self.revisions(since, "atts_since") }
    }

    /// Whether it shows what can change while the revision stays the same.
    var hasMeta: Bool { showsHistoryStatus || showsConflicts || showsDeletedConflicts || showsSequence }

    static func revisions(_ value: JSONValue, _ name: String) throws(KithError) -> [RevisionID] {
        guard let items = value.arrayValue else { throw KithError(.badRequest, "\(name) must be a list of revisions") }
        return try items.map { item throws(KithError) in
            guard let text = item.stringValue else {
                throw KithError(.badRequest, "\(name) must be a list of revisions")
            }
            return try RevisionID(parsing: text)
        }
    }

    /// Appends a document as JSON.
    ///
    /// - Returns: with `.following`, the attachments that follow, in the order in which the document names them.
    @discardableResult
    func append(
        _ document: StoredDocument, _ snapshot: Snapshot, to content: inout RESTContent
    ) throws -> [DocumentAttachment] {
        content.append("{\"_id\":")
        content.append(jsonString: document.id.text)
        content.append(",\"_rev\":\"")
        content.append(document.revision)
        content.append("\"")
        if document.isDeleted { content.append(",\"_deleted\":true") }
        if showsConflicts { Self.append("_conflicts", document.conflicts, to: &content) }
        if showsDeletedConflicts {
            let deleted = document.leaves.filter { $0.isDeleted && $0.revision != document.revision }
            Self.append("_deleted_conflicts", deleted.map(\.revision), to: &content)
        }
        if showsSequence { content.append(",\"_local_seq\":\(document.sequence)") }
        if showsHistory || showsHistoryStatus { try appendHistory(document, snapshot, to: &content) }
        let following = try appendAttachments(document, snapshot, to: &content)
        if document.body.count > 2 {
            content.append(UInt8(ascii: ","))
            content.append(document.body.dropFirst())
        } else {
            content.append(UInt8(ascii: "}"))
        }
        return following
    }

    /// A document as JSON, for one answer.
    func content(_ document: StoredDocument, _ snapshot: Snapshot) throws -> RESTContent {
        var content = RESTContent()
        try append(document, snapshot, to: &content)
        return content
    }

    private static func append(_ name: String, _ revisions: [RevisionID], to content: inout RESTContent) {
        guard !revisions.isEmpty else { return }
        content.append(",\"\(name)\":[")
        for (index, revision) in revisions.enumerated() {
            content.append(index > 0 ? ",\"" : "\"")
            content.append(revision)
            content.append("\"")
        }
        content.append("]")
    }

    private func appendHistory(
        _ document: StoredDocument, _ snapshot: Snapshot, to content: inout RESTContent
    ) throws {
        let tree = try snapshot.revisionTree(document.id)
        // CouchDB's form has no room for a gap: what is not known is filled, so that the branch joins all the same.
        var branch = [document.revision]
        var newer = document.revision
        for ancestor in tree?.history(of: document.revision) ?? [] {
            while branch[branch.count - 1].generation > ancestor.generation + 1, branch.count < Self.historyMax {
                branch.append(newer.filler(at: branch[branch.count - 1].generation - 1))
            }
            guard branch.count < Self.historyMax else { break }
            branch.append(ancestor)
            newer = ancestor
        }
        if showsHistory {
            content.append(",\"_revisions\":{\"start\":\(document.revision.generation),\"ids\":[")
            content.append(branch.map { "\"" + $0.digest + "\"" }.joined(separator: ","))
            content.append("]}")
        }
        guard showsHistoryStatus else { return }
        content.append(",\"_revs_info\":[")
        for (index, revision) in branch.enumerated() {
            let entry = tree?[revision]
            let isThere = index == 0 || entry?.hasBody ?? false
            let status = !isThere ? "missing" : entry?.isDeleted ?? false ? "deleted" : "available"
            content.append(index > 0 ? ",{\"rev\":\"" : "{\"rev\":\"")
            content.append(revision)
            content.append("\",\"status\":\"\(status)\"}")
        }
        content.append("]")
    }

    private func appendAttachments(
        _ document: StoredDocument, _ snapshot: Snapshot, to content: inout RESTContent
    ) throws -> [DocumentAttachment] {
        guard !document.attachments.isEmpty else { return [] }
        // Beyond this generation they are new to whoever has one of the revisions in `attachmentsSince`.
        var known: UInt64 = 0
        if attachments != .stubs, !attachmentsSince.isEmpty {
            let branch = Set([document.revision] + (try snapshot.history(document.id, document.revision) ?? []))
            known = attachmentsSince.filter(branch.contains).map(\.generation).max() ?? 0
        }
        var following: [DocumentAttachment] = []
        content.append(",\"_attachments\":{")
        for (index, attachment) in document.attachments.enumerated() {
            if index > 0 { content.append(",") }
            content.append(jsonString: attachment.name)
            content.append(":{\"content_type\":")
            content.append(jsonString: attachment.contentType)
            if let revpos = attachment.revpos { content.append(",\"revpos\":\(revpos)") }
            content.append(",\"digest\":\"\(attachment.digest)\"")
            if let encoding = attachment.encoding {
                content.append(",\"encoding\":")
                content.append(jsonString: encoding)
                if showsEncoding { content.append(",\"encoded_length\":\(attachment.length)") }
            }
            let isNew = attachment.revpos ?? .max > known
            switch attachments {
            case .inline where isNew:
                content.append(",\"data\":\"")
                content.append(.base64(attachment.digest, length: attachment.length))
                content.append("\"}")
            case .following where isNew:
                content.append(",\"length\":\(attachment.length),\"follows\":true}")
                following.append(attachment)
            default: content.append(",\"length\":\(attachment.length),\"stub\":true}")
            }
        }
        content.append("}")
        return following
    }
}
