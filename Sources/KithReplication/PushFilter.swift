import KithDocuments
import KithStore

/// Which documents an app lets go to a peer.
///
/// ```swift
/// let open = PushFilter(name: "open visits 2") { document in
///     document.isDeleted || (try? JSONValue(parsing: document.body))?["state"]?.stringValue == "open"
/// }
/// ```
///
/// It is asked about each revision that could be sent, also losing ones of a conflict, and about tombstones: a deletion is a
/// revision like another, mostly with an empty body. A filter that does not let tombstones pass leaves at the peer what is
/// deleted here. A document that ceases to match is not sent any more, and the peer keeps the last revision that it got.
///
/// It runs on threads of the store, several at a time, for each revision once and sometimes again: it must be quick, and answer the
/// same for the same revision.
public struct PushFilter: Sendable {
    /// Says which filter this is. Whoever changes what it lets pass changes the name as well: then everything is looked at anew.
    public let name: String
    /// Whether a revision may go to the peer.
    public let includes: @Sendable (StoredDocument) -> Bool

    /// Makes a filter.
    public init(name: String, _ includes: @escaping @Sendable (StoredDocument) -> Bool) {
        self.name = name
        self.includes = includes
    }

    /// The revisions of these changes that may not go to the peer. One that is damaged is not among them: whoever reads it to send it
    /// finds that out, and says so.
    func withheld(of changes: [Change], _ snapshot: Snapshot) throws -> Set<RevisionName> {
        var withheld: Set<RevisionName> = []
        for change in changes {
            for leaf in change.leaves {
                do {
                    guard let document = try snapshot.document(change.id, revision: leaf.revision) else { continue }
                    if !includes(document) { withheld.insert(RevisionName(id: change.id, revision: leaf.revision)) }
                } catch let error as KithError where error.code == .damaged {
                    continue
                }
            }
        }
        return withheld
    }
}
