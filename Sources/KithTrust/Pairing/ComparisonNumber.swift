/// What two people compare on their screens: six digits, and the same value as three words for reading aloud.
public struct ComparisonNumber: Sendable, Hashable, CustomStringConvertible {
    /// From 0 to 999,999.
    public let value: Int

    /// Makes the number of a value.
    ///
    /// - Precondition: the value is from 0 to 999,999.
    init(_ value: Int) {
        precondition((0..<Self.count).contains(value), "a comparison number has six digits")
        self.value = value
    }

    /// How many numbers there are; an attacker in the middle has one guess in so many.
    public static let count = 1_000_000

    /// Two groups of three digits: `482 913`.
    public var digits: String {
        let text = String(value)
        let padded = String(repeating: "0", count: 6 - text.utf8.count) + text
        return "\(padded.prefix(3)) \(padded.suffix(3))"
    }

    /// Three words, one for each two digits: `harbor-desert-bridge` for 482 913.
    public var words: String {
        let list = ComparisonWords.all
        return "\(list[value / 10_000])-\(list[value / 100 % 100])-\(list[value % 100])"
    }

    /// The digits and the words.
    public var description: String { "\(digits)   \(words)" }
}
