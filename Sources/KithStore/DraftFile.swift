import CLinux
import Glibc
import KithDocuments

/// A file that appears under its name complete and durable, or not at all. Until then it has another name in the same
/// folder, can be read by its owner only, and is locked, so that two attempts do not write to one draft.
///
/// What a dead attempt has left is taken over by the next one for the same name.
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
    /// - Throws: `.databaseExists` when there is a file of that name; `.conflict` when another attempt is under way;
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

    /// Flushes the file and gives it its name. SQLite must have closed it.
    ///
    /// - Throws: `.databaseExists` when there is a file of that name by now; `.diskFull`, `.inputOutput`.
    func publish(databaseName: String) throws(KithError) {
        guard fsync(descriptor) == 0 else { throw .system(errno, "\(what) cannot be written") }
        if kith_rename_to_new(path, target) != 0 {
            guard errno != EEXIST else { throw exists }
            guard errno == EINVAL || errno == ENOSYS else { throw .system(errno, "\(what) cannot be written") }
            // A file system that cannot refuse to replace: the next best.
            try refuseExisting()
            guard rename(path, target) == 0 else { throw .system(errno, "\(what) cannot be written") }
        }
        isPublished = true
        try DatabaseFile.flushFolder(of: target, databaseName: databaseName)
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
                return file
            }
            // It was the draft of one that has just ended.
            OpenFiles.close(file)
        }
    }
}
