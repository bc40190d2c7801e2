/// What two sides of a merge come from directly that both have, beside the base (`ThreeWayMerge.Origins`).
struct MergeOrigins: Sendable, Equatable {
    var winner: [MergeContent] = []
    var loser: [MergeContent] = []
    /// Whether these are all: not where one is not known, or its body is not kept here.
    var isWhole = true

    /// Bytes of the bodies that it holds.
    var byteCount: Int { (winner + loser).reduce(0) { $0 + $1.body.count } }
}
