import Glibc

/// A moment in whole seconds since 1970 (UTC), for showing only; nothing is ordered by it.
struct Instant: Hashable, Comparable, Sendable {
    let seconds: Int64

    init(seconds: Int64) { self.seconds = seconds }

    /// Reads `2026-05-06T12:31:09Z`, with or without a fraction, with `Z` or an offset (RFC 3339 §5.6).
    init?(parsing text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            bytes[10] == UInt8(ascii: "T") || bytes[10] == UInt8(ascii: "t") || bytes[10] == UInt8(ascii: " "),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = Self.number(bytes[0..<4]), let month = Self.number(bytes[5..<7]), (1...12).contains(month),
            let day = Self.number(bytes[8..<10]), (1...31).contains(day),
            let hour = Self.number(bytes[11..<13]), hour < 24, let minute = Self.number(bytes[14..<16]), minute < 60,
            let second = Self.number(bytes[17..<19]), second <= 60
        else { return nil }
        var rest = bytes[19...]
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard let digit = rest.first, Self.isDigit(digit) else { return nil }
            rest = rest.drop(while: Self.isDigit)
        }
        guard let zone = Self.offset(rest) else { return nil }
        let days = Self.daysSince1970(year: year, month: month, day: day)
        seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - zone
    }

    /// The moment at which it is called.
    static var now: Instant { Instant(seconds: Int64(time(nil))) }

    static func < (a: Instant, b: Instant) -> Bool { a.seconds < b.seconds }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        bytes.allSatisfy(isDigit) ? bytes.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) } : nil
    }

    private static func offset(_ bytes: ArraySlice<UInt8>) -> Int64? {
        let zone = Array(bytes)
        if zone == [UInt8(ascii: "Z")] || zone == [UInt8(ascii: "z")] { return 0 }
        guard zone.count == 6, zone[3] == UInt8(ascii: ":"), let hours = number(zone[1..<3]), hours < 24,
            let minutes = number(zone[4..<6]), minutes < 60
        else { return nil }
        switch zone[0] {
        case UInt8(ascii: "+"): return hours * 3_600 + minutes * 60
        case UInt8(ascii: "-"): return -(hours * 3_600 + minutes * 60)
        default: return nil
        }
    }

    /// The number of a day of the Gregorian calendar, counted from the first of March of a year 400·n so that the leap
    /// day comes last.
    private static func daysSince1970(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
