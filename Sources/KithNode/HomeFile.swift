import CLinux
import Glibc
import KithDocuments

/// Reads and writes the small files of a home. Writing is all or nothing: a new file is made durable and then takes the
/// old one's place.
enum HomeFile {
    static func read(_ path: String, bytesMax: Int) throws(KithError) -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw failure("read", path, errno) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        var count = 0
        while count < bytes.count {
            let size = bytes.count - count
            let got = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + count, size) }
            if got < 0, errno == EINTR { continue }
            guard got >= 0 else { throw failure("read", path, errno) }
            if got == 0 { break }
            count += got
        }
        guard count <= bytesMax else { throw KithError(.tooLarge, "\(path) is larger than \(bytesMax) bytes") }
        return Array(bytes[..<count])
    }

    static func write(_ bytes: [UInt8], to path: String) throws(KithError) {
        let temporary = path + ".new"
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw error(temporary, errno) }
        var offset = 0
        while offset < bytes.count {
            let wrote = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + offset, bytes.count - offset) }
            if wrote < 0, errno == EINTR { continue }
            guard wrote > 0 else {
                let code = errno
                close(file)
                unlink(temporary)
                throw error(temporary, code)
            }
            offset += wrote
        }
        let synced = fsync(file)
        let code = errno
        close(file)
        guard synced == 0, rename(temporary, path) == 0 else {
            let code = synced == 0 ? errno : code
            unlink(temporary)
            throw error(path, code)
        }
        // Without this a loss of power could bring the old file back.
        let folder = open(
            String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) + "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw error(path, errno) }
        let folderSynced = fsync(folder)
        let folderCode = errno
        close(folder)
        guard folderSynced == 0 else { throw error(path, folderCode) }
    }

    /// The error of a home that cannot be written.
    static func error(_ path: String, _ code: Int32) -> KithError {
        if code == ENOSPC {
            return KithError(.diskFull, "no space is left for \(path)", remedy: "Free some space and try again")
        }
        return KithError(
            .homeNotWritable, "\(path) cannot be written: \(String(cString: strerror(code)))",
            remedy: "Make the folder writable for this user, or name another home with --home")
    }

    private static func failure(_ verb: String, _ path: String, _ code: Int32) -> KithError {
        KithError(.inputOutput, "cannot \(verb) \(path): \(String(cString: strerror(code)))")
    }
}
