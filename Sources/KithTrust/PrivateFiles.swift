import Glibc
import KithDocuments

/// Files that belong to one node alone: made with mode 0600 from their first moment, and durable before they count.
enum PrivateFiles {
    /// Splits a path into the folder and the last name.
    static func split(_ path: String) -> (folder: String, name: String) {
        var bytes = Array(path.utf8)
        while bytes.count > 1 && bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else {
            return (".", String(decoding: bytes, as: UTF8.self))
        }
        let folder = slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
        return (folder, String(decoding: bytes[(slash + 1)...], as: UTF8.self))
    }

    /// Opens a folder and holds its lock (flock) while `body` runs, so that two makers of the same files take turns.
    /// The descriptor is closed afterwards, which also lets go of the lock.
    static func withLockedFolder<R>(_ path: String, _ body: (Int32) throws(KithError) -> R) throws(KithError) -> R {
        let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw failure("the folder \(path) cannot be opened", errno) }
        defer { close(folder) }
        while flock(folder, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("the folder \(path) cannot be locked", errno) }
        }
        return try body(folder)
    }

    /// Makes a new file with all its bytes on disk. It must not be there, not even as a symbolic link.
    static func create(_ name: String, in folder: Int32, _ bytes: UnsafeRawBufferPointer) throws(KithError) {
        let file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw failure("\(name) cannot be made", errno) }
        do throws(KithError) {
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(file, bytes.baseAddress! + written, bytes.count - written)
                if count < 0 {
                    if errno == EINTR { continue }
                    throw failure("\(name) cannot be written", errno)
                }
                written += count
            }
            guard fsync(file) == 0 else { throw failure("\(name) cannot be written", errno) }
        } catch {
            close(file)
            unlinkat(folder, name, 0)
            throw error
        }
        close(file)
    }

    /// Puts new content in the place of a file at once and durably: a crash leaves the old or the new, never a mixture.
    static func replace(_ path: String, _ bytes: UnsafeRawBufferPointer) throws(KithError) {
        let (folderPath, name) = split(path)
        try withLockedFolder(folderPath) { folder throws(KithError) in
            let partial = name + ".partial"
            unlinkat(folder, partial, 0)  // what a crash left; the lock says that nobody is writing it now
            try create(partial, in: folder, bytes)
            guard renameat(folder, partial, folder, name) == 0 else {
                let number = errno
                unlinkat(folder, partial, 0)
                throw failure("\(path) cannot be replaced", number)
            }
            try sync(folder, path: folderPath)
        }
    }

    /// Makes the names in a folder durable.
    static func sync(_ folder: Int32, path: String) throws(KithError) {
        guard fsync(folder) == 0 else { throw failure("the folder \(path) cannot be written", errno) }
    }

    /// Reads a whole file, or answers `nil` when it is not there.
    ///
    /// - Parameters:
    ///   - forbiddenMode: permission bits that must not be set, e.g. 0o077 for a key.
    ///   - body: gets the bytes; the memory is wiped afterwards.
    /// - Throws: `badConfiguration` for a file that others may read or write, `damaged` for one that is too large or
    ///   no ordinary file, `inputOutput`.
    static func read<R>(
        _ path: String, bytesMax: Int, forbiddenMode: mode_t, remedyMode: String,
        _ body: (UnsafeRawBufferPointer) throws(KithError) -> R
    ) throws(KithError) -> R? {
        // O_NONBLOCK: a pipe in the file's place is noticed below instead of waiting for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("\(path) cannot be read", errno)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw failure("\(path) cannot be read", errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw KithError(.damaged, "\(path) is not an ordinary file")
        }
        guard status.st_mode & forbiddenMode == 0 else {
            throw KithError(
                .badConfiguration,
                "\(path) has mode \(String(status.st_mode & 0o777, radix: 8)): others on this machine have access to it",
                remedy: "chmod \(remedyMode) '\(path)', and consider who could have used it meanwhile")
        }
        guard status.st_uid == geteuid() || status.st_uid == 0 || geteuid() == 0 else {
            throw KithError(
                .badConfiguration, "\(path) belongs to user \(status.st_uid), the node runs as user \(geteuid())",
                remedy: "Run the node as the owner of its home")
        }
        guard status.st_size <= bytesMax else {
            throw KithError(.damaged, "\(path) has \(status.st_size) bytes, more than the \(bytesMax) it may have")
        }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesMax + 1, alignment: 1)
        var filled = 0
        defer {
            explicit_bzero(memory.baseAddress!, filled)
            memory.deallocate()
        }
        while filled < memory.count {
            let count = Glibc.read(file, memory.baseAddress! + filled, memory.count - filled)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("\(path) cannot be read", errno)
            }
            if count == 0 { break }
            filled += count
        }
        guard filled <= bytesMax else { throw KithError(.damaged, "\(path) grows while it is read") }
        return try body(UnsafeRawBufferPointer(rebasing: memory[..<filled]))
    }

    /// The error for a failed system call.
    static func failure(_ message: String, _ number: Int32) -> KithError {
        let text = "\(message): \(String(cString: strerror(number)))"
        switch number {
        case EACCES, EPERM, EROFS:
            return KithError(.homeNotWritable, text, remedy: "Run the node as the owner of its home")
        case ENOSPC, EDQUOT:
            return KithError(.diskFull, text, remedy: "Free some space and try again")
        default:
            return KithError(.inputOutput, text)
        }
    }
}
