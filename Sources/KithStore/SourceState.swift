import Glibc

/// By what one can see that a file or its log was changed while it was copied.
struct SourceState: Equatable {
    private var numbers: [Int] = []

    /// - Parameters:
    ///   - file: a descriptor of the file.
    ///   - path: its name, beside which the log is.
    init(_ file: Int32, _ path: String) {
        var information = stat()
        if fstat(file, &information) == 0 { add(information) }
        for suffix in ["", "-wal"] {
            // None is a state too.
            var information = stat()
            if stat(path + suffix, &information) == 0 { add(information) }
            numbers.append(-1)
        }
    }

    private mutating func add(_ information: stat) {
        numbers += [
            Int(bitPattern: UInt(information.st_ino)), Int(information.st_size), information.st_mtim.tv_sec,
            information.st_mtim.tv_nsec,
        ]
    }
}
