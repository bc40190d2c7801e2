/// The part of a body that `Range` asks for (RFC 9110 §14.1.2).
public enum HTTPByteRange: Sendable, Equatable {
    /// Everything: there is no such field, or one that this side does not serve, such as several ranges.
    case all
    /// These bytes.
    case part(Range<UInt64>)
    /// None of the bytes that there are.
    case notSatisfiable

    /// Reads the value of `Range` for a body of this many bytes.
    public init(_ value: String?, length: UInt64) {
        guard let value, value.utf8.starts(with: "bytes=".utf8) else {
            self = .all
            return
        }
        let words = value.utf8.dropFirst(6).split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard words.count == 2, words.allSatisfy({ $0.allSatisfy(ASCII.isDigit) && $0.count <= 18 }),
            !(words[0].isEmpty && words[1].isEmpty)
        else {
            self = .all
            return
        }
        let first = UInt64(Substring(words[0]))
        let last = UInt64(Substring(words[1]))
        switch (first, last) {
        case (let first?, let last?) where first > last: self = .all
        case (let first?, let last):
            self = first < length ? .part(first..<(min(last ?? .max, length - 1) + 1)) : .notSatisfiable
        case (nil, let count?):
            self = count > 0 && length > 0 ? .part((length - min(count, length))..<length) : .notSatisfiable
        case (nil, nil): self = .all
        }
    }
}
