/// The exit codes that belong to the command line itself; those of errors stand in the table of `ErrorCode`.
enum ExitStatus {
    static let success: Int32 = 0
    /// `status --check`: running, something needs attention.
    static let attention: Int32 = 1
    /// `status --check`: running, syncing is stopped by an error.
    static let stopped: Int32 = 2
    /// `wait` ran out of time.
    static let waitedTooLong: Int32 = 5
    /// Wrong arguments (EX_USAGE of sysexits.h).
    static let usage: Int32 = 64
}
