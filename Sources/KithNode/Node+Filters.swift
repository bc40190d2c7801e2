import KithDocuments
import KithReplication
import KithTrust

extension Node {
    /// Has the app decide which documents of a database go to peers, until the node stops or the app says otherwise. What peers send
    /// is not filtered. Links that it concerns are cut before this returns, and made anew with it; what a peer already has it keeps.
    ///
    /// ```swift
    /// try node.setPushFilter(of: visits, to: tablet, PushFilter(name: "open visits 2") { document in
    ///     document.isDeleted || isOpen(document.body)
    /// })
    /// ```
    ///
    /// A filter with another name begins anew: all documents are looked at once more. One that is to be in force before the first link
    /// is made belongs into `NodeOptions.pushFilters`. It is no access control: see `setSharing` for that.
    ///
    /// - Parameters:
    ///   - name: the database.
    ///   - peer: only for this one; nil for all of which nothing else was said.
    ///   - filter: nil for none any more.
    /// - Throws: `.databaseNotFound`.
    public func setPushFilter(
        of name: DatabaseName, to peer: NodeID? = nil, _ filter: PushFilter?
    ) throws(KithError) {
        _ = try registry.database(name)
        links.setFilter(of: name, to: peer, filter)
        peerRightsChanged(peer)
        log("database \(name) is sent \(filter.map { "as the filter \($0.name) lets it" } ?? "without a filter") now")
    }
}
