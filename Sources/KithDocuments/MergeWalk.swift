/// Walks the objects of both sides and of what they come from side by side, in the order of their keys, and writes what
/// `ThreeWayMerge` says.
struct MergeWalk {
    /// The base, the other origins of the winner, those of the loser.
    let known: [MergeSide]
    let winner: MergeSide
    let loser: MergeSide
    /// Whether both sides have changed the same field.
    private(set) var hasClash = false
    private let winnerOrigins: Range<Int>
    private let loserOrigins: Range<Int>
    private var output: [UInt8] = []

    init(known: [MergeSide], winner: MergeSide, loser: MergeSide, winnerOrigins: Int) {
        self.known = known
        self.winner = winner
        self.loser = loser
        self.winnerOrigins = 1..<1 + winnerOrigins
        loserOrigins = 1 + winnerOrigins..<known.count
    }

    mutating func run() -> [UInt8] {
        output.reserveCapacity(max(winner.bytes.count, loser.bytes.count))
        object(
            known: known.map(\.members.indices), winner: winner.members.indices, loser: loser.members.indices)
        return output
    }

    /// Nests at most `DocumentLimits.nestingLevelsMax` deep, so the recursion is bounded.
    private mutating func object(
        known knownRanges: [Range<Int>], winner winnerRange: Range<Int>, loser loserRange: Range<Int>
    ) {
        var places = knownRanges.map(\.lowerBound)
        var inKnown = [Int?](repeating: nil, count: known.count)
        var w = winnerRange.lowerBound
        var l = loserRange.lowerBound
        output.append(UInt8(ascii: "{"))
        let start = output.count
        while w < winnerRange.upperBound || l < loserRange.upperBound {
            let order =
                w == winnerRange.upperBound ? 1 : l == loserRange.upperBound ? -1 : winner.compareKey(w, loser, l)
            let inWinner = order <= 0 ? w : nil
            let inLoser = order >= 0 ? l : nil
            // What neither side has was removed on both.
            for (number, side) in known.enumerated() {
                inKnown[number] = nil
                while places[number] < knownRanges[number].upperBound {
                    let k = places[number]
                    let order = inWinner.map { side.compareKey(k, winner, $0) } ?? side.compareKey(k, loser, l)
                    if order > 0 { break }
                    if order == 0 { inKnown[number] = k }
                    places[number] = side.after(k)
                }
            }
            member(known: inKnown, winner: inWinner, loser: inLoser, isFirst: output.count == start)
            if let inWinner { w = winner.after(inWinner) }
            if let inLoser { l = loser.after(inLoser) }
        }
        output.append(UInt8(ascii: "}"))
    }

    /// One field, of which the winner or the loser has a value.
    private mutating func member(known k: [Int?], winner w: Int?, loser l: Int?, isFirst: Bool) {
        guard let w else {
            if let l { onOneSide(loser, l, loserOrigins, others: winnerOrigins, k, isFirst: isFirst) }
            return
        }
        guard let l else { return onOneSide(winner, w, winnerOrigins, others: loserOrigins, k, isFirst: isFirst) }
        if Self.isSame(winner, w, loser, l) { return put(winner, w, isFirst: isFirst) }
        if let b = k[0] {
            if Self.isSame(known[0], b, winner, w) { return put(loser, l, isFirst: isFirst) }
            if Self.isSame(known[0], b, loser, l) { return put(winner, w, isFirst: isFirst) }
        }
        guard winner.isObject(w), loser.isObject(l) else {
            hasClash = true
            let isEdit = !isFrom(loserOrigins, loser, l, k) && isFrom(winnerOrigins, winner, w, k)
            return isEdit ? put(loser, l, isFirst: isFirst) : put(winner, w, isFirst: isFirst)
        }
        if !isFirst { output.append(UInt8(ascii: ",")) }
        output.append(contentsOf: winner.keyText(w))
        object(
            known: zip(known, k).map { side, k in k.map { side.inside($0) } ?? 0..<0 },
            winner: winner.inside(w), loser: loser.inside(l))
    }

    /// A field that only one side has: removed by the other, unless this one has it new or changed.
    private mutating func onOneSide(
        _ side: MergeSide, _ index: Int, _ origins: Range<Int>, others: Range<Int>, _ k: [Int?], isFirst: Bool
    ) {
        if let b = k[0] {
            if Self.isSame(known[0], b, side, index) { return }
            hasClash = true
            // What only a merge took does not bring back what somebody removed.
            if isFrom(origins, side, index, k), !others.contains(where: { k[$0] == nil }) { return }
        }
        put(side, index, isFirst: isFirst)
    }

    /// Whether one of a side's origins has a field as the side has it.
    private func isFrom(_ origins: Range<Int>, _ side: MergeSide, _ index: Int, _ k: [Int?]) -> Bool {
        origins.contains { number in k[number].map { Self.isSame(known[number], $0, side, index) } ?? false }
    }

    private mutating func put(_ side: MergeSide, _ index: Int, isFirst: Bool) {
        if !isFirst { output.append(UInt8(ascii: ",")) }
        output.append(contentsOf: side.keyText(index))
        output.append(contentsOf: side.value(index))
    }

    private static func isSame(_ a: MergeSide, _ x: Int, _ b: MergeSide, _ y: Int) -> Bool {
        let left = a.value(x)
        let right = b.value(y)
        return left.count == right.count && ByteText.compare(left, right) == 0
    }
}
