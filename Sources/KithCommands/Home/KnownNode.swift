/// A node as commands print it: this one, or a peer.
struct KnownNode: Equatable, Sendable {
    let name: String
    /// The whole ID, in groups.
    let id: String
    /// The first eight characters of it.
    let short: String

    var shown: String { "\(DisplayText.safe(name))  \(short)" }
}
