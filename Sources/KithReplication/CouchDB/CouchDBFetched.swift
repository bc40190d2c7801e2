import KithDocuments

/// What came of a revision that was asked for.
enum CouchDBFetched {
    /// It, or with `latest` what has taken its place.
    case documents([DocumentParts])
    /// The server says that it has not got it, though its list of changes names it: it was purged, or has not come yet to that part
    /// of a cluster.
    case missing
    /// It cannot be had, or not be kept.
    case refused(KithError)

    /// The answer to `_bulk_get`: `{"results": [{"id": …, "docs": [{"ok": document} or {"error": …}]}]}`. Each document is
    /// read on its own.
    ///
    /// - Throws: `.protocolViolation` when it is no such list.
    static func bulk(_ answer: CouchDBAnswer, _ batch: [WantedRevision]) throws -> [CouchDBFetched] {
        var fetched = [CouchDBFetched?](repeating: nil, count: batch.count)
        try answer.body.withUnsafeBytes { bytes in
            let results: [Range<Int>]
            do {
                let members = try JSONOutline.members(of: bytes)
                guard let list = members.first(where: { $0.name == "results" })?.range else { throw notAList(answer) }
                results = try JSONOutline.elements(of: bytes, in: list)
            } catch {
                throw notAList(answer)
            }
            for (place, range) in results.enumerated() {
                let text = UnsafeRawBufferPointer(rebasing: bytes[range])
                guard let members = try? JSONOutline.members(of: text),
                    let list = members.first(where: { $0.name == "docs" })?.range,
                    let entries = try? JSONOutline.elements(of: text, in: list)
                else { throw notAList(answer) }
                let id = members.first { $0.name == "id" }
                    .flatMap { try? JSONValue(parsing: UnsafeRawBufferPointer(rebasing: text[$0.range])) }?.stringValue
                // CouchDB keeps the order of the question; others may leave out or put together.
                func isAbout(_ index: Int) -> Bool {
                    fetched[index] == nil && batch[index].name.id.text.utf8.elementsEqual((id ?? "").utf8)
                }
                let index =
                    results.count == batch.count && isAbout(place) ? place : batch.indices.first(where: isAbout)
                guard let index else { continue }
                let parts = entries.map { UnsafeRawBufferPointer(rebasing: text[$0]) }
                fetched[index] = read(parts, batch[index])
            }
        }
        return fetched.map {
            $0 ?? .refused(KithError(.protocolViolation, "the server has answered nothing about this revision"))
        }
    }

    /// The answer to `GET` with `open_revs`: `[{"ok": document} or {"missing": revision}]`.
    ///
    /// - Throws: `.protocolViolation` when it is no such list.
    static func single(_ answer: CouchDBAnswer, _ wanted: WantedRevision) throws -> CouchDBFetched {
        try answer.body.withUnsafeBytes { bytes in
            guard let entries = try? JSONOutline.elements(of: bytes, in: 0..<bytes.count) else {
                throw notAList(answer)
            }
            return read(entries.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) }, wanted)
        }
    }

    private static func notAList(_ answer: CouchDBAnswer) -> KithError {
        KithError(.protocolViolation, "the answer to \(answer.request.shown) is no list of documents")
    }

    private static func read(_ entries: [UnsafeRawBufferPointer], _ wanted: WantedRevision) -> CouchDBFetched {
        var documents: [DocumentParts] = []
        do {
            for entry in entries {
                let members = try JSONOutline.members(of: entry)
                if let range = members.first(where: { $0.name == "ok" })?.range {
                    let text = UnsafeRawBufferPointer(rebasing: entry[range])
                    documents.append(try CouchDBDocument.parse(text, of: wanted.name.id))
                    continue
                }
                guard let error = members.first(where: { $0.name == "error" })?.range else { continue }
                let value = try JSONValue(parsing: UnsafeRawBufferPointer(rebasing: entry[error]))
                let name = value["error"]?.stringValue ?? value.stringValue ?? ""
                if name == "not_found" || name == "missing" { continue }
                let reason = [name, value["reason"]?.stringValue ?? ""].filter { !$0.isEmpty }.joined(separator: ": ")
                return .refused(KithError(.forbidden, "the server does not give it: \(CouchDBAnswer.shown(reason))"))
            }
        } catch {
            return .refused(error)
        }
        return documents.isEmpty ? .missing : .documents(documents)
    }
}
