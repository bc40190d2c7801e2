import Glibc

/// A moment as the clock on the wall shows it.
struct LocalTime: Equatable, Sendable {
    let year: Int
    let month: Int
    let day: Int
    let hour: Int
    let minute: Int
    let second: Int

    /// In the time zone of the machine (`TZ`, else the system's).
    static func inSystemZone(_ instant: Instant) -> LocalTime {
        var seconds = time_t(instant.seconds)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return LocalTime(parts)
    }

    /// In UTC plus a fixed offset, for tests.
    static func withOffset(_ offsetSeconds: Int64) -> @Sendable (Instant) -> LocalTime {
        { instant in
            var seconds = time_t(instant.seconds + offsetSeconds)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            return LocalTime(parts)
        }
    }

    private init(_ parts: tm) {
        year = Int(parts.tm_year) + 1900
        month = Int(parts.tm_mon) + 1
        day = Int(parts.tm_mday)
        hour = Int(parts.tm_hour)
        minute = Int(parts.tm_min)
        second = Int(parts.tm_sec)
    }

    /// `18:42`.
    var clock: String { Self.twoDigits(hour) + ":" + Self.twoDigits(minute) }

    /// `18:42:07`.
    var clockWithSeconds: String { clock + ":" + Self.twoDigits(second) }

    /// `2026-05-06 18:42:07`.
    var dayAndClock: String {
        "\(year)-\(Self.twoDigits(month))-\(Self.twoDigits(day)) \(clockWithSeconds)"
    }

    /// `3 May`.
    var date: String {
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        return "\(day) \(names[(month - 1) % 12])"
    }

    func isSameDay(as other: LocalTime) -> Bool { year == other.year && month == other.month && day == other.day }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
