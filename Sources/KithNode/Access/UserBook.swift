import Glibc
import KithAccess
import KithDocuments
import Synchronization

/// The users of a node, in `users.json` of its home.
///
/// All members may be called from any thread. Looking up never waits for the disk; a change is on disk before it is visible here
/// and before the call returns. A file that cannot be read is an error, never an empty list. One object per file.
public final class UserBook: Sendable {
    private let path: String
    private let bytesMax: Int
    private let list: Mutex<UserList>
    /// Held while the file is written, so that changes take turns.
    private let writer = Mutex<Void>(())

    /// Opens the book; a file that is not there is an empty book, and the first change makes it.
    ///
    /// - Parameter bytesMax: of the file.
    /// - Throws: `.damaged`, `.newerFormat`; `.badConfiguration` when others than the owner may read it; `.inputOutput`.
    public init(path: String, bytesMax: Int = AccessLimits.fileBytesMax) throws(KithError) {
        self.path = path
        self.bytesMax = bytesMax
        var status = stat()
        guard lstat(path, &status) == 0 else {
            guard errno == ENOENT else {
                throw KithError(.inputOutput, "cannot read \(path): \(String(cString: strerror(errno)))")
            }
            list = Mutex(UserList())
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0 else {
            throw KithError(
                .badConfiguration, "\(path) must be a file that only its owner can read",
                remedy: "Type: chmod 600 \(path)")
        }
        list = Mutex(
            try UserList(
                parsing: try HomeFile.read(path, bytesMax: bytesMax), path: path))
    }

    /// In the order of the bytes of their names.
    public var users: [User] { list.withLock { $0.users } }

    /// The user of exactly this name.
    public func user(named name: String) -> User? { list.withLock { $0.user(named: name) } }

    /// Changes the list, durably.
    ///
    /// - Throws: what `change` throws; `.tooLarge` for a list that could not be read again; errors of the disk. Then nothing has changed.
    func update<T>(_ change: (inout UserList) throws(KithError) -> T) throws(KithError) -> T {
        try writer.withLock { _ throws(KithError) in
            var new = list.withLock { $0 }
            let before = new
            let result = try change(&new)
            if new != before {
                let text = new.encoded()
                guard text.count <= bytesMax else {
                    throw KithError(
                        .tooLarge, "all users together would need more than \(bytesMax) bytes",
                        remedy: "Give users fewer roles, or remove some")
                }
                try HomeFile.write(text, to: path)
                list.withLock { [new] in $0 = new }
            }
            return result
        }
    }
}
