import Glibc

/// Time and use of this process.
enum Stopwatch {
    /// Nanoseconds of the monotonic clock, the same in every process of this machine.
    static var nanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Seconds that a piece of work takes.
    static func seconds(_ work: () throws -> Void) rethrows -> Double {
        let start = nanoseconds
        try work()
        return Double(nanoseconds - start) / 1e9
    }

    /// Seconds that a piece of work takes which waits.
    static func secondsAwaited(_ work: () async throws -> Void) async rethrows -> Double {
        let start = nanoseconds
        try await work()
        return Double(nanoseconds - start) / 1e9
    }

    /// Peak memory in MiB and processor seconds of this process so far.
    static var usage: (peakMebibytes: Double, cpuSeconds: Double) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return (Double(usage.ru_maxrss) / 1024, seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}
