/// Where bytes go that the program prints.
protocol OutputSink: AnyObject {
    /// Writes all of them.
    ///
    /// - Throws: `OutputClosed` when nobody reads any more, `KithError` (io_error, disk_full) otherwise.
    func write(_ bytes: some Sequence<UInt8>) throws
}
