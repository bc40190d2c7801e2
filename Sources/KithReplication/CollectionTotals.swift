/// What the collections of a session add up to; kept up as each of them changes, so that nobody has to ask all of them.
struct CollectionTotals {
    /// Collections that are not idle.
    private(set) var busy = 0
    /// Collections whose checkpoint is not known yet.
    private(set) var unloaded = 0
    private var toSend = 0
    private var toReceive = 0
    private var unknownToSend = 0
    private var unknownToReceive = 0

    /// Adds a collection, or takes away what it was counted with.
    ///
    /// - Parameter sign: 1 or -1.
    mutating func add(_ standing: CollectionStanding, _ sign: Int) {
        if !standing.isIdle { busy += sign }
        if !standing.isLoaded { unloaded += sign }
        if let count = standing.toSend { toSend += sign * count } else { unknownToSend += sign }
        if let count = standing.toReceive { toReceive += sign * count } else { unknownToReceive += sign }
    }

    /// What waits in each direction; unknown as soon as a part is.
    var pending: (toSend: Int?, toReceive: Int?) {
        (unknownToSend == 0 ? toSend : nil, unknownToReceive == 0 ? toReceive : nil)
    }
}
