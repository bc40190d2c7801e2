import Glibc

/// How a database works inside.
public struct DatabaseOptions: Sendable {
    /// Who runs writes and submitted reads.
    public enum Writer: Sendable {
        /// One writer thread and a few reader threads, started at their first use.
        case thread
        /// The thread that submits: everything is done when the call returns, in the order of the calls, for tests and
        /// simulations. A body or completion that submits again has that done after itself, before the outer call
        /// returns. Where several threads submit at once, one of them works for all.
        case caller
    }

    /// Who runs writes and submitted reads.
    public var writer: Writer
    /// Reader threads, and idle connections kept for reading.
    public var readers: Int
    /// Whether a commit waits for the disk. Only a simulation, whose disk is not the machine's, switches that off: then
    /// a power cut may undo acknowledged writes.
    public var isDurable: Bool
    /// The name under which SQLite knows the file system that it goes through; nil for the machine's own. For tests, which
    /// put faults in between.
    package var vfsName: String?
    /// Hears commits of other processes. For tests, which take away its means.
    package var bellWatcher = BellWatcher.shared

    /// The time in milliseconds since 1970, for the expiry of documents and nothing else.
    public var clock: @Sendable () -> Int64

    /// Options; without arguments as a node uses them.
    public init(
        writer: Writer = .thread, readers: Int = StoreLimits.readersDefault, isDurable: Bool = true,
        clock: @escaping @Sendable () -> Int64 = DatabaseOptions.systemClock
    ) {
        self.writer = writer
        self.readers = max(1, readers)
        self.isDurable = isDurable
        self.clock = clock
    }

    /// The machine's clock.
    public static let systemClock: @Sendable () -> Int64 = {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }
}
