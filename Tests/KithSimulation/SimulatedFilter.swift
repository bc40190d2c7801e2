import KithDocuments
import KithReplication
import KithStore

/// Which revisions may go over a link: a share of the documents, or of the revisions of each.
struct SimulatedFilter: Equatable {
    let number: Int

    /// As a link's positions name it.
    var tag: String { "f-\(number)" }

    func includes(_ id: DocumentID, _ body: [UInt8]) -> Bool {
        let bytes = number.isMultiple(of: 2) ? Array(id.text.utf8) : body
        let hash = bytes.reduce(UInt64(number)) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return (hash >> 20) % 3 != 0
    }

    var pushFilter: PushFilter {
        PushFilter(name: String(number)) { document in includes(document.id, document.body) }
    }
}
