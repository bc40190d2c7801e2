import KithDocuments
import KithReplication

/// An app with Couchbase Lite at one of the nodes.
final class SimulatedClient {
    /// What its replicator is told to do.
    struct Options {
        var pushes = true
        var pulls = true
        /// Whether it stays, or replicates once and comes again.
        var isContinuous = true
        /// Whether it names its collection, as newer versions do.
        var namesCollection = false
        /// The only documents that it replicates; `nil`: all.
        var documentIDs: Set<DocumentID>?
    }

    let index: Int
    /// Its node.
    let node: Int
    let options: Options
    let database = ClientDatabase()
    /// The newest connection; `nil` before the first.
    var link: Int?
    var isConnecting = false

    init(index: Int, node: Int, options: Options) {
        self.index = index
        self.node = node
        self.options = options
    }

    /// Whether the client replicates a document.
    func replicates(_ id: DocumentID) -> Bool { options.documentIDs?.contains(id) ?? true }
}
