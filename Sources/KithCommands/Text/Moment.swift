/// Now, and the calendar by which times are told: what the renderers are given in place of a clock.
struct Moment: Sendable {
    let now: Instant
    let calendar: @Sendable (Instant) -> LocalTime

    /// The machine's clock and time zone.
    static var current: Moment { Moment(now: .now, calendar: LocalTime.inSystemZone) }

    /// When something happened, as short as it can be said: `8 s ago`, `12 min ago`, `13:58`, `yesterday 18:42`,
    /// `3 May 18:42`.
    func tell(_ instant: Instant) -> String {
        let age = now.seconds - instant.seconds
        // A moment ahead of this clock comes from another machine's, or from a clock that was set back.
        if age < 1 { return "just now" }
        if age < 60 { return "\(age) s ago" }
        if age < 3_600 { return "\(age / 60) min ago" }
        return tellPoint(instant)
    }

    /// The point in time, never an age: `13:58`, `yesterday 18:42`, `3 May 18:42`, `3 May 2025`.
    func tellPoint(_ instant: Instant) -> String {
        let then = calendar(instant)
        let today = calendar(now)
        if then.isSameDay(as: today) { return then.clock }
        // Half a day before now is always yesterday or today, also where a day has 23 or 25 hours.
        let yesterday = calendar(Instant(seconds: now.seconds - Int64(today.hour) * 3_600 - 43_200))
        if then.isSameDay(as: yesterday) { return "yesterday " + then.clock }
        if then.year == today.year { return then.date + " " + then.clock }
        return then.date + " \(then.year)"
    }

    /// How long something has lasted: `12 s`, `5 min`, `7 hours`, `3 days`.
    func lasted(since instant: Instant) -> String {
        let age = Int(max(0, now.seconds - instant.seconds))
        if age < 60 { return "\(age) s" }
        if age < 3_600 { return "\(age / 60) min" }
        if age < 172_800 { return Quantity.of(age / 3_600, "hour") }
        return Quantity.of(age / 86_400, "day")
    }
}
