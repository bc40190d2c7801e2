/// A document as REST has it, taken apart: what the names with `_` said, and the canonical rest.
public struct DocumentParts: Sendable, Equatable {
    /// `_id`, when it was there.
    public let id: DocumentID?
    /// `_rev`, when it was there.
    public let revision: RevisionID?
    /// Whether `_deleted` was true.
    public let isDeleted: Bool
    /// The ancestors that `_revisions` named, newest first, without `revision`; `nil` when it was not there.
    public let history: [RevisionID]?
    /// The entries of `_attachments`, rising by name; `nil` when it was not there, empty when it had none.
    public let attachments: [IncomingAttachment]?
    /// `_exp`, when it was there.
    public let expiry: Expiry?
    /// The rest as a canonical JSON object.
    public let body: [UInt8]

    init(takenOut: [(CanonicalPass.Reserved, [UInt8])], body: [UInt8]) throws(KithError) {
        var id: DocumentID?
        var revision: RevisionID?
        var isDeleted = false
        var revisions: JSONValue?
        var attachments: [IncomingAttachment]?
        var expiry: Expiry?
        for (name, bytes) in takenOut {
            let value = JSONValue(canonical: bytes)
            switch name {
            case .id:
                guard let text = value.stringValue else { throw Self.wrongType(name, "a string") }
                id = try DocumentID(text)
            case .revision:
                guard let text = value.stringValue else { throw Self.wrongType(name, "a string") }
                revision = try RevisionID(parsing: text)
            case .deleted:
                guard let flag = value.boolValue else { throw Self.wrongType(name, "true or false") }
                isDeleted = flag
            case .attachments: attachments = try IncomingAttachment.list(value)
            case .expiry: expiry = try Expiry(value)
            case .revisions:
                revisions = value
            case .conflicts, .deletedConflicts, .revisionsInfo, .localSequence: break
            }
        }
        self.id = id
        self.revision = revision
        self.isDeleted = isDeleted
        self.history = if let revisions { try Self.history(revisions, of: revision) } else { nil }
        self.attachments = attachments
        self.expiry = expiry
        self.body = body
    }

    /// The ancestors in CouchDB's `{"start": 3, "ids": ["digest of generation 3", "of 2", "of 1"]}`.
    private static func history(_ value: JSONValue, of revision: RevisionID?) throws(KithError) -> [RevisionID] {
        guard let revision, let start = value["start"]?.uint64Value, let ids = value["ids"]?.arrayValue,
            start == revision.generation, ids.first?.stringValue.map({ ByteText.equal($0, revision.digest) }) == true,
            UInt64(ids.count) <= start
        else {
            throw KithError(
                .badDocument, "_revisions does not fit _rev",
                remedy: "It holds start, the generation of _rev, and ids, the digests from _rev on downwards")
        }
        var history: [RevisionID] = []
        history.reserveCapacity(ids.count)
        for (index, id) in ids.enumerated().dropFirst() {
            guard let digest = id.stringValue else { throw wrongType(.revisions, "an object with digests") }
            history.append(try RevisionID(generation: start - UInt64(index), digest: digest))
        }
        return history
    }

    private static func wrongType(_ name: CanonicalPass.Reserved, _ expected: String) -> KithError {
        KithError(.badDocument, "\(name.name) must be \(expected)")
    }
}
