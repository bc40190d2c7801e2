import Glibc

/// Says whether some other process has locks on a file that keep this one from writing to it: "locked" or "free".
struct LocksRole {
    let path: String

    func run() {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else {
            printError("\(path) cannot be opened")
            exit(1)
        }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        // The whole file, so that it does not matter where SQLite has its locks.
        guard fcntl(file, F_GETLK, &lock) == 0 else {
            printError("the locks cannot be read")
            exit(1)
        }
        printLine(lock.l_type == Int16(F_UNLCK) ? "free" : "locked")
    }
}
