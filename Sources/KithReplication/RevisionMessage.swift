import Glibc
import KithDocuments
import KithStore
import KithWire

/// Reads a `rev` message, and writes its body.
enum RevisionMessage {
    /// The revision that a `rev` or `norev` message names, or `nil` when it names none.
    static func name(_ message: BLIPMessage) -> RevisionName? {
        guard let id = message.properties["id"], let revision = message.properties["rev"],
            let id = try? DocumentID(id), let revision = try? RevisionID(parsing: revision)
        else { return nil }
        return RevisionName(id: id, revision: revision)
    }

    /// The property of `norev` in which a Kith node says which of the receiver's leaves are superseded: pairs of revision
    /// IDs, what supersedes before what is superseded.
    static let supersededProperty = "kith-superseded"

    /// What a `norev` message says of leaves that are superseded; anything that is no pair of revisions is left out.
    static func supersessions(_ message: BLIPMessage, of id: DocumentID) -> [Supersession] {
        guard let text = message.properties[supersededProperty] else { return [] }
        let revisions = text.utf8.split(separator: UInt8(ascii: ",")).prefix(2 * ReplicationLimits().historyMax)
            .map { try? RevisionID(parsing: String(decoding: $0, as: UTF8.self)) }
        return stride(from: 0, to: revisions.count - 1, by: 2).compactMap { index in
            guard let leaf = revisions[index], let revision = revisions[index + 1] else { return nil }
            return Supersession(id: id, leaf: leaf, revision: revision)
        }
    }

    /// The revision that a `rev` message carries, with its attachments taken out of the body.
    ///
    /// - Returns: `nil` when the sender says in `error` that it cannot send it.
    /// - Throws: `KithError` saying which part cannot be used.
    static func parse(_ message: BLIPMessage, limits: ReplicationLimits) throws(KithError) -> IncomingRevision? {
        // In one pass, since a stream of revisions is mostly this.
        var id: Result<DocumentID, KithError>?
        var revision: Result<RevisionID, KithError>?
        var (hasError, hasHistory, hasFlags) = (false, false, false)
        message.properties.forEach { name, value in
            if equal(name, "id") {
                if id == nil { id = Result { () throws(KithError) in try DocumentID(utf8: value) } }
            } else if equal(name, "rev") {
                if revision == nil { revision = Result { () throws(KithError) in try RevisionID(parsing: value) } }
            } else if equal(name, "history") {
                hasHistory = true
            } else if equal(name, "error") {
                hasError = true
            } else if equal(name, "deleted") || equal(name, "noconflicts") || equal(name, "deltaSrc") {
                hasFlags = true
            }
        }
        if hasError, message.properties.int("error") ?? 0 != 0 { return nil }
        guard let id, let revision else {
            throw KithError(.badRequest, "a rev message needs the properties id and rev")
        }
        if hasFlags, message.properties["deltaSrc"] != nil {
            // Never asked for: the sender answers 422 by sending the whole body.
            throw KithError(.deltaNotSupported, "deltas are not taken")
        }
        var history: [RevisionID] = []
        if hasHistory, let text = message.properties["history"], !text.isEmpty {
            for part in text.utf8.split(separator: UInt8(ascii: ",")) {
                guard history.count < limits.receivedHistoryMax else {
                    throw KithError(.tooLarge, "a history of more than \(limits.receivedHistoryMax) revisions")
                }
                let trimmed = part.drop { $0 == UInt8(ascii: " ") }
                history.append(try RevisionID(parsing: String(decoding: trimmed, as: UTF8.self)))
            }
        }
        // Most documents have no attachments; they are looked at only by the store.
        let (body, attachments) =
            mentionsAttachments(message.body)
            ? try CanonicalJSON.splitAttachments(message.body) : (message.body, AttachmentList())
        return IncomingRevision(
            id: try id.get(), revision: try revision.get(), history: history,
            isDeleted: hasFlags && message.properties.bool("deleted"), body: body, attachments: attachments,
            refusesConflict: hasFlags && message.properties.bool("noconflicts"))
    }

    /// The body of a `rev` message: the canonical body with the attachments in it, as stubs.
    static func body(of revision: RevisionForTransfer) -> [UInt8] {
        guard !revision.attachments.isEmpty else { return revision.body }
        let stubs = revision.attachments.canonicalBytes()
        var body: [UInt8] = []
        body.reserveCapacity(revision.body.count + stubs.count + attachmentsKey.count + 2)
        body.append(UInt8(ascii: "{"))
        body.append(contentsOf: attachmentsKey)
        body.append(UInt8(ascii: ":"))
        body.append(contentsOf: stubs)
        if revision.body.count > 2 { body.append(UInt8(ascii: ",")) }
        body.append(contentsOf: revision.body.dropFirst())
        return body
    }

    private static func equal(_ bytes: UnsafeRawBufferPointer, _ name: StaticString) -> Bool {
        bytes.count == name.utf8CodeUnitCount && bytes.baseAddress.map { memcmp($0, name.utf8Start, bytes.count) } == 0
    }

    private static let attachmentsKey = Array("\"_attachments\"".utf8)

    /// Whether the name stands anywhere in a text; perhaps only deeper inside, which the parser tells. A sender that escapes
    /// characters of it without need is refused by the store for using a reserved name.
    private static func mentionsAttachments(_ body: [UInt8]) -> Bool {
        body.withUnsafeBytes { body in
            attachmentsKey[1...].withUnsafeBytes { key in
                guard var next = body.baseAddress, let keyStart = key.baseAddress else { return false }
                let end = next + body.count
                // Quotes are many in JSON, underscores are few.
                while let underscore = memchr(next, Int32(UInt8(ascii: "_")), end - next) {
                    next = UnsafeRawPointer(underscore)
                    if end - next >= key.count, memcmp(next, keyStart, key.count) == 0 { return true }
                    next += 1
                }
                return false
            }
        }
    }
}
