import Glibc

/// What a writer rings after each commit that changed documents, for other processes that have the same file open.
///
/// It sets the times of the database's file, which inotify tells to whoever watches that. No descriptor of the file is
/// opened for it: closing one would give up the locks that SQLite holds for this process.
struct DatabaseBell: Sendable {
    /// Where the file is, from the root, since a program may change its folder.
    let path: String

    init(path: String) {
        guard let resolved = realpath(path, nil) else {
            self.path = path
            return
        }
        self.path = String(cString: resolved)
        free(resolved)
    }

    /// Rings. That it fails (a file system that has become read-only) is no fault of the commit, which is done.
    func ring() {
        _ = utimensat(AT_FDCWD, path, nil, 0)
    }
}
