import KithDocuments

/// Sequences of a collection, as ranges of such that follow each other.
///
/// It takes no more room than `rangesMax` ranges: beyond, the shortest is forgotten.
public struct SequenceRanges: Sendable, Equatable {
    /// The ranges, rising; between two of them is a sequence that is in none.
    public private(set) var ranges: [ClosedRange<UInt64>] = []

    /// More remember better which documents came from a peer, where many were written in between; each takes 16 bytes.
    static let rangesMax = 256

    /// None.
    public init() {}

    /// Reads a list of pairs `[first,last]`; what is no range of sequences is passed over.
    public init(_ value: JSONValue?) {
        for item in value?.arrayValue ?? [] {
            guard let pair = item.arrayValue, pair.count == 2, let first = pair[0].int64Value, first > 0,
                let last = pair[1].int64Value, first <= last
            else { continue }
            insert(UInt64(first)...UInt64(last))
        }
    }

    /// The list of pairs.
    public var json: JSONValue {
        .array(ranges.map { .array([JSONValue($0.lowerBound), JSONValue($0.upperBound)]) })
    }

    /// Whether a sequence is in one of them.
    public func contains(_ sequence: UInt64) -> Bool {
        let place = place(of: sequence)
        return place < ranges.count && ranges[place].contains(sequence)
    }

    /// Adds a sequence.
    public mutating func insert(_ sequence: UInt64) { insert(sequence...sequence) }

    /// Adds all of a range, which is not empty of 0.
    public mutating func insert(_ range: ClosedRange<UInt64>) {
        // What touches it becomes one with it.
        let first = place(of: max(range.lowerBound, 1) - 1)
        var end = first
        var whole = range
        while end < ranges.count,
            ranges[end].lowerBound <= whole.upperBound || ranges[end].lowerBound == whole.upperBound + 1
        {
            whole = min(whole.lowerBound, ranges[end].lowerBound)...max(whole.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: [whole])
        guard ranges.count > Self.rangesMax, let shortest = ranges.indices.min(by: { length($0) < length($1) }) else {
            return
        }
        ranges.remove(at: shortest)
    }

    private func length(_ index: Int) -> UInt64 { ranges[index].upperBound - ranges[index].lowerBound }

    /// The first range that does not end before a sequence.
    private func place(of sequence: UInt64) -> Int {
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) >> 1
            if ranges[middle].upperBound < sequence { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
