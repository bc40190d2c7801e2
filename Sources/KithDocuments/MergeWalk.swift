/// Walks three objects side by side, in the order of their keys, and writes what `ThreeWayMerge` says.
struct MergeWalk {
    let base: MergeSide
    let winner: MergeSide
    let loser: MergeSide
    private var output: [UInt8] = []

    init(base: MergeSide, winner: MergeSide, loser: MergeSide) {
        self.base = base
        self.winner = winner
        self.loser = loser
    }

    mutating func run() -> [UInt8] {
        output.reserveCapacity(max(winner.bytes.count, loser.bytes.count))
        object(
            base: base.members.indices, winner: winner.members.indices, loser: loser.members.indices)
        return output
    }

    /// Nests at most `DocumentLimits.nestingLevelsMax` deep, so the recursion is bounded.
    private mutating func object(
        base baseRange: Range<Int>, winner winnerRange: Range<Int>, loser loserRange: Range<Int>
    ) {
        var b = baseRange.lowerBound
        var w = winnerRange.lowerBound
        var l = loserRange.lowerBound
        output.append(UInt8(ascii: "{"))
        let start = output.count
        while w < winnerRange.upperBound || l < loserRange.upperBound {
            let order =
                w == winnerRange.upperBound ? 1 : l == loserRange.upperBound ? -1 : winner.compareKey(w, loser, l)
            let inWinner = order <= 0 ? w : nil
            let inLoser = order >= 0 ? l : nil
            // What only the base has was removed on both sides.
            var inBase: Int?
            while b < baseRange.upperBound {
                let place = inWinner.map { base.compareKey(b, winner, $0) } ?? base.compareKey(b, loser, l)
                if place > 0 { break }
                if place == 0 { inBase = b }
                b = base.after(b)
            }
            member(base: inBase, winner: inWinner, loser: inLoser, isFirst: output.count == start)
            if let inWinner { w = winner.after(inWinner) }
            if let inLoser { l = loser.after(inLoser) }
        }
        output.append(UInt8(ascii: "}"))
    }

    /// One field, of which the winner or the loser has a value.
    private mutating func member(base b: Int?, winner w: Int?, loser l: Int?, isFirst: Bool) {
        guard let w else {
            // Only the loser has it: removed by the winner, unless the loser has it new or changed.
            guard let l, b.map({ !Self.isSame(base, $0, loser, l) }) ?? true else { return }
            return put(loser, l, isFirst: isFirst)
        }
        guard let l else {
            guard b.map({ !Self.isSame(base, $0, winner, w) }) ?? true else { return }
            return put(winner, w, isFirst: isFirst)
        }
        if Self.isSame(winner, w, loser, l) { return put(winner, w, isFirst: isFirst) }
        if let b {
            if Self.isSame(base, b, winner, w) { return put(loser, l, isFirst: isFirst) }
            if Self.isSame(base, b, loser, l) { return put(winner, w, isFirst: isFirst) }
        }
        guard winner.isObject(w), loser.isObject(l) else { return put(winner, w, isFirst: isFirst) }
        if !isFirst { output.append(UInt8(ascii: ",")) }
        output.append(contentsOf: winner.keyText(w))
        object(base: b.map { base.inside($0) } ?? 0..<0, winner: winner.inside(w), loser: loser.inside(l))
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
