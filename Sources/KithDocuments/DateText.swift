/// Dates as text, without a calendar of the system.
package enum DateText {
    /// The seconds since 1970 of `YYYY-MM-DDThh:mm:ss`, a fraction that is cut off, and `Z` or `±hh:mm`; `nil` when the
    /// text is anything else or there is no such date. Leap seconds are not known.
    static func unixSeconds(_ text: UnsafeRawBufferPointer) -> Int64? {
        func number(_ start: Int, _ count: Int) -> Int64? {
            guard start + count <= text.count else { return nil }
            var value: Int64 = 0
            for byte in text[start..<(start + count)] {
                guard byte &- UInt8(ascii: "0") < 10 else { return nil }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return value
        }
        guard let year = number(0, 4), let month = number(5, 2), let day = number(8, 2), let hour = number(11, 2),
            let minute = number(14, 2), let second = number(17, 2), text.count > 19
        else { return nil }
        for (place, separator) in [(4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":")] as [(Int, Unicode.Scalar)] {
            guard text[place] == UInt8(ascii: separator) else { return nil }
        }
        guard (1...12).contains(month), day >= 1, day <= days(in: month, of: year), hour < 24, minute < 60, second < 60
        else { return nil }

        var place = 19
        if text[place] == UInt8(ascii: ".") {
            place += 1
            let first = place
            while place < text.count, text[place] &- UInt8(ascii: "0") < 10 { place += 1 }
            guard place > first, place < text.count else { return nil }
        }
        var offset: Int64 = 0
        switch text[place] {
        case UInt8(ascii: "Z"):
            guard place + 1 == text.count else { return nil }
        case UInt8(ascii: "+"), UInt8(ascii: "-"):
            guard place + 6 == text.count, text[place + 3] == UInt8(ascii: ":"), let hours = number(place + 1, 2),
                let minutes = number(place + 4, 2), hours < 24, minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * (text[place] == UInt8(ascii: "+") ? 60 : -60)
        default: return nil
        }
        let time: Int64 = (hour * 60 + minute) * 60 + second
        return daysSince1970(year, month, day) * 86_400 + time - offset
    }

    /// A time in UTC to the second, as RFC 3339 writes it: `2026-05-03T10:02:11Z`. Years have four digits: what lies outside is told as
    /// the first or the last time that has them.
    ///
    /// - Parameter seconds: since 1970.
    package static func utc(_ seconds: Int64) -> String {
        let seconds = min(max(seconds, daysSince1970(0, 1, 1) * 86_400), daysSince1970(10_000, 1, 1) * 86_400 - 1)
        let second = (seconds % 86_400 + 86_400) % 86_400
        // Years that begin in March, in eras of 400 years: the leap day comes last.
        let day = (seconds - second) / 86_400 + 719_468
        let era = (day >= 0 ? day : day - 146_096) / 146_097
        let dayOfEra = day - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func padded(_ number: Int64, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfYear - (153 * marchMonth + 2) / 5 + 1, 2))T"
            + "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
    }

    private static func days(in month: Int64, of year: Int64) -> Int64 {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days in the Gregorian calendar, which is counted from March on, so that the leap day comes last.
    private static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        // An era later, so that January of the year 0 is not below zero, where division would round up.
        let marchYear = (month > 2 ? year : year - 1) + 400
        let marchMonth = (month + 9) % 12
        let years = marchYear * 365 + marchYear / 4 - marchYear / 100 + marchYear / 400
        return years + (marchMonth * 153 + 2) / 5 + day - 1 - 719_468 - 146_097
    }
}
