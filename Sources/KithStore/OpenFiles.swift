import Glibc

/// The files that SQLite has open in this process.
///
/// Closing any descriptor of a file takes away all locks that the process holds on that file by fcntl(2), those of SQLite
/// through another descriptor as well; then another process could take the file for unused, and remove a log that is in
/// use. So a descriptor of a database file is only closed while SQLite does not have the file open; otherwise it is closed
/// after SQLite has closed it.
enum OpenFiles {
    /// Which file it is, whatever its name.
    struct FileID: Hashable, Sendable {
        let device: dev_t
        let inode: ino_t
    }

    private struct State: Sendable {
        /// How many connections have a file open.
        var counts: [FileID: Int] = [:]
        /// Descriptors to be closed after the last of them.
        var waiting: [FileID: [Int32]] = [:]
    }

    private static let state = Monitor(State())

    /// Lets SQLite open a file.
    ///
    /// - Returns: which file was opened, for `didClose`; nil when there is none of that path, as in memory.
    static func open(_ path: String, _ open: () -> Bool) -> FileID? {
        // Under the lock: nobody closes a descriptor between the opening and the counting.
        state.update { state in
            var information = stat()
            guard open(), stat(path, &information) == 0 else { return nil }
            let file = FileID(device: information.st_dev, inode: information.st_ino)
            state.counts[file, default: 0] += 1
            return file
        }
    }

    /// Notes that SQLite has closed a file.
    static func didClose(_ file: FileID) {
        state.update { state in
            guard let count = state.counts[file] else { return }
            if count > 1 {
                state.counts[file] = count - 1
                return
            }
            state.counts[file] = nil
            for descriptor in state.waiting.removeValue(forKey: file) ?? [] { Glibc.close(descriptor) }
        }
    }

    /// Whether SQLite has a file of this path open in this process.
    static func isOpen(_ path: String) -> Bool {
        var information = stat()
        guard stat(path, &information) == 0 else { return false }
        let file = FileID(device: information.st_dev, inode: information.st_ino)
        return state.update { $0.counts[file] != nil }
    }

    /// Closes a descriptor that may be of a database file, now or when that takes no lock away.
    static func close(_ descriptor: Int32) {
        state.update { state in
            var information = stat()
            if fstat(descriptor, &information) == 0 {
                let file = FileID(device: information.st_dev, inode: information.st_ino)
                if state.counts[file] != nil {
                    // A lock of the other kind would otherwise be held so long.
                    flock(descriptor, LOCK_UN)
                    state.waiting[file, default: []].append(descriptor)
                    return
                }
            }
            Glibc.close(descriptor)
        }
    }
}
