/// Finds what a mistyped word was meant to be.
enum Suggestion {
    /// The name with the fewest edits (a changed, added, missing or swapped neighbouring byte each counts one), or
    /// `nil` when none is near enough to be a help.
    static func nearest(to word: String, among names: [String]) -> String? {
        var best: (name: String, distance: Int)?
        for name in names {
            let distance = editDistance(Array(word.utf8), Array(name.utf8))
            if distance < best?.distance ?? Int.max { best = (name, distance) }
        }
        guard let best, best.distance <= max(1, word.utf8.count / 3) else { return nil }
        return best.name
    }

    private static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        // Far longer than every name: nothing is near, and nothing should be computed.
        if a.count > 64 { return Int.max }
        var beforePrevious: [Int] = []
        var previous = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var cost = min(row[j] + 1, previous[j + 1] + 1, previous[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, beforePrevious[j - 1] + 1) }
                row.append(cost)
            }
            beforePrevious = previous
            previous = row
        }
        return previous[b.count]
    }
}
