import Glibc
import KithDocuments

/// The body of a `changes` message and of its answer, written and read.
///
/// A list holds entries `[sequence, id, revision, deleted?]`; the answer holds, in the same order, an array of known
/// ancestors for each revision that is wanted, 0 for one that is not, and an error status for one that is refused.
enum ChangesList {
    /// One announced revision.
    struct Entry {
        /// The sender's sequence as JSON text: opaque, compared and handed back byte by byte.
        var sequence: [UInt8]
        /// The revision, or `nil` when its document ID or revision ID is not legal here.
        var name: RevisionName?
        /// Whether the sender says only that the document is there no longer for this side: it lost access, or the document was
        /// taken from a channel. There is nothing to ask for.
        var isGone = false
        /// The IDs as they came, for the record of a refusal; empty where `name` says the same.
        var rawID = ""
        var rawRevision = ""
    }

    /// What is answered to one entry.
    enum Answer {
        /// Send it; these ancestors are here.
        case wanted([RevisionID])
        /// It is not wanted.
        case declined
        /// It is refused with this status.
        case refused(Int)
    }

    /// Appends one entry to a list under construction.
    static func append(
        sequence: UInt64, tag: String? = nil, _ id: DocumentID, _ leaf: RevisionID, isDeleted: Bool,
        to list: inout [UInt8]
    ) {
        list.append(list.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
        list.append(UInt8(ascii: "["))
        list.append(contentsOf: SentPosition.text(sequence, tag: tag).utf8)
        list.append(UInt8(ascii: ","))
        JSONValue.append(id.text, to: &list)
        list.append(contentsOf: ",\"".utf8)
        leaf.append(to: &list)
        list.append(contentsOf: (isDeleted ? "\",true]" : "\"]").utf8)
    }

    /// Ends a list under construction.
    static func finish(_ list: inout [UInt8]) {
        if list.isEmpty { list.append(UInt8(ascii: "[")) }
        list.append(UInt8(ascii: "]"))
    }

    /// Reads a list. `null` is an empty one, as Sync Gateway sends it.
    ///
    /// - Throws: `KithError` with `.protocolViolation` when it is not a list of entries or has too many.
    static func parse(_ body: [UInt8], entriesMax: Int) throws(KithError) -> [Entry] {
        if let entries = body.withUnsafeBytes({ plainEntries($0, entriesMax: entriesMax) }) { return entries }
        let items = try array(body, what: "a changes list")
        guard items.count <= entriesMax else {
            throw KithError(.protocolViolation, "a changes list with \(items.count) entries; \(entriesMax) are allowed")
        }
        var entries: [Entry] = []
        entries.reserveCapacity(items.count)
        for item in items {
            guard let fields = item.arrayValue, fields.count >= 3, let id = fields[1].stringValue,
                let revision = fields[2].stringValue
            else { throw KithError(.protocolViolation, "an entry of a changes list is not [sequence, id, revision]") }
            // Sync Gateway has bits there: 1 a tombstone, 2 lost access, 4 removed from the channel. A tombstone that is removed
            // as well (5) is a tombstone.
            let flags = fields.count > 3 ? fields[3].int64Value ?? 0 : 0
            let name = (try? DocumentID(id)).flatMap { id in
                (try? RevisionID(parsing: revision)).map { RevisionName(id: id, revision: $0) }
            }
            let isGone = name != nil && flags >= 2 && flags != 5
            entries.append(
                Entry(
                    sequence: fields[0].canonicalBytes(), name: isGone ? nil : name, isGone: isGone, rawID: id,
                    rawRevision: revision))
        }
        return entries
    }

    /// Reads a list that has the form in which nodes write them, `[[1,"id","1-ab"],[2,"id","1-cd",true]]`, without making
    /// values of it. `nil` for everything else, which is then read as any JSON is.
    private static func plainEntries(_ body: UnsafeRawBufferPointer, entriesMax: Int) -> [Entry]? {
        guard body.count > 2, body[0] == UInt8(ascii: "["), body[body.count - 1] == UInt8(ascii: "]") else {
            return nil
        }
        var entries: [Entry] = []
        var position = 1
        func take(_ text: StaticString) -> Bool {
            let count = text.utf8CodeUnitCount
            guard position + count <= body.count, let base = body.baseAddress,
                memcmp(base + position, text.utf8Start, count) == 0
            else { return false }
            position += count
            return true
        }
        /// What stands before the next quote: no escape and nothing that a text may not have in it.
        func takeText() -> UnsafeRawBufferPointer? {
            let start = position
            while position < body.count, body[position] != UInt8(ascii: "\"") {
                guard body[position] >= 0x20, body[position] != UInt8(ascii: "\\") else { return nil }
                position += 1
            }
            return UnsafeRawBufferPointer(rebasing: body[start..<position])
        }
        repeat {
            guard entries.count < entriesMax, take("[") else { return nil }
            let start = position
            while position < body.count, body[position] &- UInt8(ascii: "0") < 10 { position += 1 }
            // Above 2^53 and with zeros in front a number may have another form.
            guard (1...15).contains(position - start), body[start] != UInt8(ascii: "0") else { return nil }
            let sequence = Array(UnsafeRawBufferPointer(rebasing: body[start..<position]))
            guard take(",\""), let idText = takeText(), let id = try? DocumentID(utf8: idText), take("\",\""),
                let revisionText = takeText(), let revision = try? RevisionID(parsing: revisionText),
                take("\"]") || take("\",true]") || take("\",false]")
            else { return nil }
            entries.append(Entry(sequence: sequence, name: RevisionName(id: id, revision: revision)))
        } while take(",")
        return position == body.count - 1 ? entries : nil
    }

    /// Appends one answer to a list of answers under construction.
    static func append(_ answer: Answer, to list: inout [UInt8]) {
        list.append(list.isEmpty ? UInt8(ascii: "[") : UInt8(ascii: ","))
        switch answer {
        case .declined: list.append(UInt8(ascii: "0"))
        case .refused(let status): list.append(contentsOf: String(status).utf8)
        case .wanted(let ancestors):
            list.append(UInt8(ascii: "["))
            for (index, ancestor) in ancestors.enumerated() {
                list.append(contentsOf: (index == 0 ? "\"" : ",\"").utf8)
                ancestor.append(to: &list)
                list.append(UInt8(ascii: "\""))
            }
            list.append(UInt8(ascii: "]"))
        }
    }

    /// Reads the answers to a list of `count` entries. Missing ones at the end mean "not wanted".
    ///
    /// - Throws: `KithError` with `.protocolViolation` when it is not a list.
    static func parseAnswers(_ body: [UInt8], count: Int) throws(KithError) -> [Answer] {
        let items = try array(body, what: "an answer to a changes list")
        var answers: [Answer] = []
        answers.reserveCapacity(count)
        for item in items.prefix(count) {
            if let known = item.arrayValue {
                answers.append(
                    .wanted(known.compactMap { value in value.stringValue.flatMap { try? RevisionID(parsing: $0) } }))
            } else if let status = item.int64Value, status != 0 {
                answers.append(.refused(Int(clamping: status)))
            } else {
                answers.append(.declined)
            }
        }
        while answers.count < count { answers.append(.declined) }
        return answers
    }

    /// Reads a body that is an array; `null` and nothing are empty ones.
    static func array(_ body: [UInt8], what: String) throws(KithError) -> [JSONValue] {
        if body.isEmpty { return [] }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: body)
        } catch {
            throw KithError(.protocolViolation, "\(what) is not JSON", cause: error)
        }
        if case .null = value { return [] }
        guard let items = value.arrayValue else { throw KithError(.protocolViolation, "\(what) is not an array") }
        return items
    }
}
