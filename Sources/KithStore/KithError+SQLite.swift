import CSQLite
import Glibc
import KithDocuments

extension KithError {
    /// The error that a result code of SQLite means to the caller.
    ///
    /// Only SQLite's fixed text for the code is quoted, never its message about the statement.
    ///
    /// - Parameters:
    ///   - code: the extended result code.
    ///   - systemError: `errno` at the time, 0 when SQLite had none.
    ///   - database: the database's name.
    static func sqlite(_ code: Int32, systemError: Int32, database: String) -> KithError {
        let detail = String(cString: sqlite3_errstr(code)) + " (SQLite \(code))"
        let reason = systemError == 0 ? detail : String(cString: strerror(systemError)) + "; " + detail
        switch code & 0xFF {
        case SQLITE_FULL:
            return .diskFull(database)
        case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT:
            return .diskFull(database)
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            return KithError(
                .damaged, "The file of database \(database) is damaged: \(detail)",
                remedy: "Keep the file, and restore the database from a peer or a backup")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            return KithError(
                .homeNotWritable, "The file of database \(database) cannot be written: \(reason)",
                remedy: "Check owner and permissions of the file and its folder, and that the file system is writable")
        case SQLITE_CANTOPEN:
            let isForbidden = [EACCES, EPERM, EROFS, ENOENT, ENOTDIR].contains(systemError)
            return KithError(
                isForbidden ? .homeNotWritable : .inputOutput,
                "The file of database \(database) cannot be opened: \(reason)",
                remedy: "Check that the folder exists and can be written by this user")
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            return KithError(
                .inputOutput, "Database \(database) is locked by another process: \(detail)",
                remedy: "Close the other program that uses the file, or try again")
        case SQLITE_TOOBIG:
            return KithError(.tooLarge, "A value is too large for database \(database): \(detail)")
        case SQLITE_IOERR, SQLITE_NOMEM, SQLITE_NOLFS:
            return KithError(.inputOutput, "Reading or writing database \(database) failed: \(reason)")
        default:
            return KithError(.internal, "Database \(database): SQLite reports \(detail)")
        }
    }

    private static func diskFull(_ database: String) -> KithError {
        KithError(
            .diskFull, "No space is left for database \(database); nothing of this write was stored",
            remedy: "Free space on the file system; no restart is needed")
    }

    /// The answer to whoever comes after `Database.close()`.
    static func closed(_ database: String) -> KithError {
        KithError(.closed, "Database \(database) is closed")
    }

    /// Reading or writing a file failed in the operating system.
    static func system(_ number: Int32, _ what: String) -> KithError {
        let text = what + ": " + String(cString: strerror(number))
        switch number {
        case ENOSPC, EDQUOT:
            return KithError(.diskFull, text, remedy: "Free space on the file system; no restart is needed")
        case EACCES, EPERM, EROFS, ENOENT, ENOTDIR:
            return KithError(
                .homeNotWritable, text, remedy: "Check that the folder exists and can be written by this user")
        default:
            return KithError(.inputOutput, text)
        }
    }
}
