import KithDocuments

/// A collection as it stands when its replication begins.
public struct OpenedCollection: Sendable {
    /// Its name.
    public let name: CollectionName
    /// The sequence of its last change.
    public let lastSequence: UInt64
    /// The local document that was asked for, a checkpoint; `nil` where there is none.
    public let checkpoint: [UInt8]?

    /// A collection with its checkpoint.
    public init(name: CollectionName, lastSequence: UInt64, checkpoint: [UInt8]?) {
        self.name = name
        self.lastSequence = lastSequence
        self.checkpoint = checkpoint
    }
}
