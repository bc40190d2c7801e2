import KithDocuments

/// A document that changed, as the list of changes tells it: each document once, with its latest sequence.
public struct Change: Sendable, Equatable {
    /// The sequence of the document's last change.
    public let sequence: UInt64
    /// The document.
    public let id: DocumentID
    /// The winner.
    public let winner: Leaf
    /// Apart from the winner, since most documents have no other leaf: then nothing is allocated for it.
    private let otherLeaves: [Leaf]
    /// The bodies of `leaves` in their order, each a JSON object in canonical form; empty where they were not asked for.
    public let bodies: [[UInt8]]

    /// A change.
    public init(sequence: UInt64, id: DocumentID, leaves: [Leaf], bodies: [[UInt8]] = []) {
        precondition(!leaves.isEmpty)
        self.init(
            sequence: sequence, id: id, winner: leaves[0], otherLeaves: Array(leaves.dropFirst()), bodies: bodies)
    }

    @inline(__always)
    init(sequence: UInt64, id: DocumentID, winner: Leaf, otherLeaves: [Leaf] = [], bodies: [[UInt8]] = []) {
        self.sequence = sequence
        self.id = id
        self.winner = winner
        self.otherLeaves = otherLeaves
        self.bodies = bodies
    }

    /// The leaves, the winner first, then by the order that chooses the winner; never empty. Where only winners were
    /// asked for, the winner.
    public var leaves: [Leaf] { otherLeaves.isEmpty ? [winner] : [winner] + otherLeaves }
}
