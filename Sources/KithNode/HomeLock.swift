import CLinux
import Glibc
import KithDocuments

/// The hold on a home: at most one node has it. It is an open file with a lock of the kernel's, so it goes with the
/// process however that ends.
public final class HomeLock: Sendable {
    private let file: Int32

    init(path: String, home: String) throws(KithError) { file = try Self.take(path, home) }

    private static func take(_ path: String, _ home: String) throws(KithError) -> Int32 {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw HomeFile.error(path, errno) }
        guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            close(file)
            guard code == EWOULDBLOCK else { throw HomeFile.error(path, code) }
            throw KithError(
                .alreadyRunning, "a node runs on the home \(home) already",
                remedy: "Look at it with kith status, or name another home with --home")
        }
        return file
    }

    deinit { close(file) }
}
