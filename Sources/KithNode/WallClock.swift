import Glibc
import KithDocuments

/// The time for people. Nothing is ordered by it.
enum WallClock {
    /// Seconds since 1970.
    static var seconds: Int64 { Int64(time(nil)) }

    /// The time as text in UTC, as RFC 3339 writes it: `2026-05-03T10:02:11Z`.
    static func text(_ seconds: Int64) -> String { DateText.utc(seconds) }
}
