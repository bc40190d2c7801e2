import CLinux
import Glibc
import KithDocuments

/// A file that appears under its name complete and durable, or not at all. Until then it has another name in the same
/// folder, can be read by its owner only, and is locked, so that two attempts do not write to one draft.
///
/// What a dead attempt has left is taken over by the next one for the same name. Another file of that name stays as it is.
final class DraftFile {
    /// Where it is until it is published.
    let path: String
    /// Stays open, so that SQLite's locks on the draft are not lost, and the draft stays locked.
    let descriptor: Int32
    private let target: String
    private let what: String
    private var isPublished = false

    /// - Parameters:
    ///   - target: the name that it gets.
    ///   - what: what it is, for messages: "The backup of database notes".
    /// - Throws: `.databaseExists` when there is a file of that name, or one that is no draft where the draft would be;
    ///   `.conflict` when another attempt is under way;
    ///   `.homeNotWritable`, `.diskFull`, `.inputOutput`.
    init(for target: String, what: String) throws(KithError) {
        self.target = target
        self.what = what
        path = target + ".kith-draft"
        descriptor = try Self.open(path, what)
        // From here on, what throws ends this object, which removes the draft.
        try refuseExisting()
        for suffix in ["-wal", "-shm", "-journal"] { unlink(path + suffix) }
        guard ftruncate(descriptor, 0) == 0, fchmod(descriptor, 0o600) == 0 else {
            throw .system(errno, "\(what) cannot be written")
        }
    }

    deinit {
        // The name first: nobody may take over a draft that is about to go.
        if !isPublished { DatabaseFile.remove(path) }
        OpenFiles.close(descriptor)
    }

    /// Flushes the file and gives it its name, beside which no log of an earlier file is left. SQLite must have closed it.
    ///
    /// - Throws: `.databaseExists` when there is a file of that name by now; `.diskFull`, `.inputOutput`.
    func publish(databaseName: String) throws(KithError) {
        for suffix in ["-wal", "-journal"] {
            var information = stat()
            guard stat(path + suffix, &information) != 0 || information.st_size == 0 else {
                throw KithError(.inputOutput, "\(what) cannot be written: a part of it is still in its log")
            }
            unlink(path + suffix)
        }
        unlink(path + "-shm")
        guard fsync(descriptor) == 0 else { throw .system(errno, "\(what) cannot be written") }
        let isFree = try DatabaseFile.whileFree(target, databaseName: databaseName) { () throws(KithError) in
            try rename()
        }
        guard isFree else { throw exists }
        isPublished = true
        try DatabaseFile.flushFolder(of: target, databaseName: databaseName)
    }

    private func rename() throws(KithError) {
        if kith_rename_to_new(path, target) != 0 {
            guard errno != EEXIST else { throw exists }
            guard errno == EINVAL || errno == ENOSYS else { throw .system(errno, "\(what) cannot be written") }
            // A file system that cannot refuse to replace: the next best.
            try refuseExisting()
            guard Glibc.rename(path, target) == 0 else { throw .system(errno, "\(what) cannot be written") }
        }
    }

    private func refuseExisting() throws(KithError) {
        var information = stat()
        if lstat(target, &information) == 0 { throw exists }
    }

    private var exists: KithError {
        KithError(
            .databaseExists, "\(what) cannot be written: there is a file \(target) already",
            remedy: "Name another file, or move that one away")
    }

    private static func open(_ path: String, _ what: String) throws(KithError) -> Int32 {
        while true {
            let file = Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard file >= 0 else { throw .system(errno, "\(what) cannot be written") }
            guard flock(file, LOCK_EX | LOCK_NB) == 0 else {
                let number = errno
                OpenFiles.close(file)
                guard number == EWOULDBLOCK else { throw .system(number, "\(what) cannot be written") }
                throw KithError(.conflict, "\(what) is being written already", remedy: "Wait until that is done")
            }
            var (locked, named) = (stat(), stat())
            if fstat(file, &locked) == 0, lstat(path, &named) == 0, named.st_ino == locked.st_ino,
                named.st_dev == locked.st_dev
            {
                if mayTakeOver(file, path, locked) { return file }
                OpenFiles.close(file)
                throw KithError(
                    .databaseExists, "\(what) cannot be written: \(path) is in the way, which is no draft of Kith",
                    remedy: "Name another file, or move that one away")
            }
            // It was the draft of one that has just ended.
            OpenFiles.close(file)
        }
    }

    /// Whether it was made now, or by an attempt that has ended: then it is empty, begins as a database of ours, or has
    /// only zeros there, since a backup writes its first page last.
    private static func mayTakeOver(_ file: Int32, _ path: String, _ information: stat) -> Bool {
        guard information.st_mode & S_IFMT == S_IFREG, !OpenFiles.isOpen(path) else { return false }
        if information.st_size == 0 { return true }
        guard !DatabaseFile.isInUse(byOtherProcess: file) else { return false }
        var page = [UInt8](repeating: 1, count: 4_096)
        return DatabaseFile.hasOurHeader(file)
            || pread(file, &page, page.count, 0) == page.count && page.allSatisfy { $0 == 0 }
    }
}
