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

    /// Seconds of processor time that a piece of work takes on this thread, whatever else the machine does.
    static func processorSeconds(_ work: () throws -> Void) rethrows -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        try work()
        return now() - start
    }

    /// Memory of this process now, in MiB.
    static var residentMebibytes: Double { residentMebibytes(of: getpid()) }

    /// Memory of a process now, in MiB.
    static func residentMebibytes(of pid: pid_t) -> Double {
        guard let file = fopen("/proc/\(pid)/statm", "r") else { return 0 }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        guard fgets(&line, Int32(line.count), file) != nil else { return 0 }
        let words = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            .split(separator: " ")
        return words.count > 1 ? (Double(words[1]) ?? 0) * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576 : 0
    }

    /// Peak memory in MiB and processor seconds of this process so far.
    static var usage: (peakMebibytes: Double, cpuSeconds: Double) {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return (Double(usage.ru_maxrss) / 1024, seconds(usage.ru_utime) + seconds(usage.ru_stime))
    }
}
