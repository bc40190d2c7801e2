import Glibc

/// A clock that only ever goes forward, for time-outs and rates.
enum MonotonicClock {
    static var milliseconds: Int {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return now.tv_sec * 1_000 + now.tv_nsec / 1_000_000
    }
}
