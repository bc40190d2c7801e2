import CSQLite
import KithDocuments

extension SQLiteConnection {
    /// After a flush that failed: writes the log over itself, and flushes it, before anything is added to it.
    ///
    /// The system says once that pages did not get to the disk, and takes them for written from then on. Among them can be
    /// frames of commits that did not wait for the disk. The next flush would succeed without them, and after a power cut
    /// the log would end there, with what was acknowledged behind them lost. So they are made pages to be written again.
    /// Moving the log into the file instead would mix two states of it if the power was cut meanwhile.
    ///
    /// - Throws: `.inputOutput`, `.diskFull` when the disk fails again: then nothing may be acknowledged.
    func repairLog() throws(KithError) {
        guard hasFailedFlush else { return }
        // Nobody adds to the log then, nor begins it anew.
        try execute("BEGIN IMMEDIATE")
        defer { try? execute("ROLLBACK") }
        guard let handle else { throw .closed(databaseName) }
        var file: UnsafeMutablePointer<sqlite3_file>?
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard code == SQLITE_OK else { throw error(code) }
        if let file, let methods = file.pointee.pMethods?.pointee {
            let code = Self.rewrite(file, methods)
            guard code == SQLITE_OK else { throw error(code) }
        }
        hasFailedFlush = false
    }

    private static func rewrite(_ file: UnsafeMutablePointer<sqlite3_file>, _ methods: sqlite3_io_methods) -> Int32 {
        var size: sqlite3_int64 = 0
        var code = methods.xFileSize(file, &size)
        var bytes = [UInt8](repeating: 0, count: StoreLimits.logRepairStepBytes)
        var offset: sqlite3_int64 = 0
        while code == SQLITE_OK, offset < size {
            let count = Int32(min(sqlite3_int64(bytes.count), size - offset))
            code = methods.xRead(file, &bytes, count, offset)
            if code == SQLITE_OK { code = methods.xWrite(file, bytes, count, offset) }
            offset += sqlite3_int64(count)
        }
        return code == SQLITE_OK ? methods.xSync(file, SQLITE_SYNC_NORMAL) : code
    }
}
