import KithDocuments
import KithTrust

/// One database as shared with one peer: what a link is for.
struct LinkKey: Hashable {
    let peer: NodeID
    let database: DatabaseName
}
