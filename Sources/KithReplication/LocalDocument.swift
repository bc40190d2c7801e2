/// A document that never replicates: checkpoints and progress.
public struct LocalDocument: Sendable {
    /// The name, without `_local/`.
    public let name: String
    /// The text, JSON.
    public let body: [UInt8]

    /// Makes a local document.
    public init(name: String, body: [UInt8]) {
        self.name = name
        self.body = body
    }
}
