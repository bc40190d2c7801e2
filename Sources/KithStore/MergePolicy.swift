/// What is done by itself about a document in conflict.
public enum MergePolicy: String, Sendable, CaseIterable {
    /// Nothing: somebody looks at it and resolves it.
    case byHand = "none"
    /// The versions are merged field by field from where they parted (`ThreeWayMerge`). Bodies of superseded revisions
    /// are kept for that.
    case threeWay = "three-way"

    /// How the file has it.
    var number: Int { self == .threeWay ? 1 : 0 }

    /// What the file has: one that is not known is nothing that can be done.
    init(number: Int) { self = number == 1 ? .threeWay : .byHand }
}
