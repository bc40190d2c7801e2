import CLinux
import Glibc
import KithDocuments

/// The path of a Unix socket, however long: where the kernel's 107 bytes do not suffice, the folder is opened and the
/// socket reached through `/proc/self/fd`.
public struct UnixSocketAddress: Hashable, Sendable, CustomStringConvertible {
    /// The path as given.
    public let path: String

    /// Makes an address from a path, absolute or relative to the current folder.
    public init(path: String) { self.path = path }

    /// The path.
    public var description: String { path }

    /// The path's folder and the name in it, split at the last slash.
    var parts: (folder: String, name: String) {
        let bytes = Array(path.utf8)
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
        let folder = slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
        return (folder, String(decoding: bytes[(slash + 1)...], as: UTF8.self))
    }

    /// Calls `body` with the address in the kernel's form; the folder is open, where needed, while `body` runs.
    ///
    /// - Throws: `.badConfiguration` when the name alone is too long or the path is not one; the folder's error when
    ///   it cannot be opened.
    func withSockaddr<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) throws(KithError) -> T {
        var address = sockaddr_un()
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        var bytes = Array(path.utf8)
        var folder: OwnedDescriptor?
        guard !bytes.isEmpty, !bytes.contains(0), bytes.last != UInt8(ascii: "/") else { throw unusable }
        if bytes.count >= capacity {
            let opened = OwnedDescriptor(open(parts.folder, O_PATH | O_DIRECTORY | O_CLOEXEC))
            guard opened.number >= 0 else { throw socketError(errno, path: path) }
            folder = opened
            bytes = Array("/proc/self/fd/\(opened.number)/\(parts.name)".utf8)
        }
        guard bytes.count < capacity else { throw unusable }
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path).map { $0 + bytes.count + 1 } ?? 0
        return withExtendedLifetime(folder) {
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
            }
        }
    }

    private var unusable: KithError {
        KithError(
            .badConfiguration, "\(quoted(path)) is not a path for a socket",
            remedy: "The name after the last slash may have at most 80 bytes")
    }
}

/// The error of reaching a node's socket, told apart by what the caller can do.
func socketError(_ number: Int32, path: String) -> KithError {
    switch number {
    case ENOENT, ECONNREFUSED, ENOTDIR:
        KithError(.noNode, "No node answers on \(path)", remedy: "Start it: kith up")
    case EACCES, EPERM:
        KithError(.nodeUnreachable, "\(path) belongs to another user", remedy: "Run the command as the node's user")
    case EAGAIN:
        KithError(.nodeUnreachable, "The node on \(path) does not answer: it has too many callers or hangs")
    default:
        KithError(.nodeUnreachable, "\(path) cannot be reached: \(errorText(number))")
    }
}
