import CLinux
import Glibc
import KithDocuments

/// The file of a listening Unix socket: made so that nobody else can reach it at any moment, and removed only while it
/// is still the same file.
struct UnixSocketFile {
    private let address: UnixSocketAddress
    private let device: dev_t
    private let inode: ino_t

    /// Makes the socket and listens on it.
    static func listen(_ address: UnixSocketAddress) throws(KithError) -> (OwnedDescriptor, UnixSocketFile) {
        let (folderPath, name) = address.parts
        let folder = try openFolder(folderPath)
        // Until this lock goes (with the descriptor), no other node looks whether the socket is dead, replaces or
        // removes it: a socket that is bound but does not listen yet would look dead.
        try lock(folder, address)
        let socket = OwnedDescriptor(
            Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0))
        guard socket.number >= 0 else {
            throw KithError(.inputOutput, "No socket to listen on \(address): \(errorText(errno))")
        }
        // bind(2) gives the file the mode of the socket's own inode, less the umask: so it is never more than 0600.
        _ = fchmod(socket.number, 0o600)
        if try bind(socket, address) == EADDRINUSE {
            try removeIfDead(address, folder: folder, name: name)
            let second = try bind(socket, address)
            guard second == 0 else { throw cannotBind(address, second) }
        }
        guard Glibc.listen(socket.number, TransportLimits.backlogMax) == 0 else { throw cannotBind(address, errno) }
        var status = stat()
        // A umask that takes rights from the owner too leaves less than 0600, which is set right here.
        guard fchmodat(folder.number, name, 0o600, 0) == 0,
            fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0
        else { throw cannotBind(address, errno) }
        return (socket, UnixSocketFile(address: address, device: status.st_dev, inode: status.st_ino))
    }

    /// Removes the file, unless another has taken its place.
    func remove() {
        let (folderPath, name) = address.parts
        guard let folder = try? Self.openFolder(folderPath), (try? Self.lock(folder, address)) != nil else { return }
        var status = stat()
        guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_dev == device,
            status.st_ino == inode
        else { return }
        _ = unlinkat(folder.number, name, 0)
    }

    private static func openFolder(_ path: String) throws(KithError) -> OwnedDescriptor {
        let folder = OwnedDescriptor(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        var status = stat()
        guard folder.number >= 0, fstat(folder.number, &status) == 0 else {
            throw KithError(.homeNotWritable, "The folder \(path) cannot be opened: \(errorText(errno))")
        }
        guard status.st_mode & 0o022 == 0 else {
            throw KithError(
                .badConfiguration, "Other users may write to the folder \(path), so its socket could be replaced",
                remedy: "chmod 700 \(path)")
        }
        return folder
    }

    private static func lock(_ folder: OwnedDescriptor, _ address: UnixSocketAddress) throws(KithError) {
        for _ in 0..<TransportLimits.folderLockTriesMax {
            if flock(folder.number, LOCK_EX | LOCK_NB) == 0 { return }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            usleep(10_000)
        }
        guard errno == EWOULDBLOCK || errno == EINTR else { return }  // a file system without locks
        throw KithError(.alreadyRunning, "Another node is starting on \(address)")
    }

    /// 0, or EADDRINUSE when the name is taken.
    private static func bind(_ socket: OwnedDescriptor, _ address: UnixSocketAddress) throws(KithError) -> Int32 {
        let result = try address.withSockaddr { pointer, length in
            Glibc.bind(socket.number, pointer, length) == 0 ? 0 : errno
        }
        guard result == 0 || result == EADDRINUSE else { throw cannotBind(address, result) }
        return result
    }

    private static func removeIfDead(
        _ address: UnixSocketAddress, folder: OwnedDescriptor, name: String
    ) throws(KithError) {
        var status = stat()
        if fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) != 0 {
            if errno == ENOENT { return }
            throw cannotBind(address, errno)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw KithError(
                .badConfiguration, "\(address) is there and is not a socket", remedy: "Remove it or choose another home"
            )
        }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        let caller = OwnedDescriptor(Glibc.socket(AF_UNIX, type, 0))
        guard caller.number >= 0 else { throw cannotBind(address, errno) }
        let result = try address.withSockaddr { pointer, length in
            connect(caller.number, pointer, length) == 0 ? 0 : errno
        }
        switch result {
        case ECONNREFUSED:
            // Nobody listens: its process is dead.
            guard unlinkat(folder.number, name, 0) == 0 || errno == ENOENT else { throw cannotBind(address, errno) }
        case ENOENT: return
        default:
            // It listens, even if it hangs (EAGAIN: its queue is full) or belongs to somebody else.
            throw KithError(.alreadyRunning, "Another node answers on \(address)", remedy: "Stop it first")
        }
    }

    private static func cannotBind(_ address: UnixSocketAddress, _ number: Int32) -> KithError {
        KithError(.homeNotWritable, "The socket \(address) cannot be made: \(errorText(number))")
    }
}
