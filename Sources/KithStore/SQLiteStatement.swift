import CSQLite
import KithDocuments

/// A prepared statement while it is in use; only valid inside the closure of `SQLiteConnection.with`.
struct SQLiteStatement {
    let pointer: OpaquePointer
    let connection: SQLiteConnection

    // Binding. Positions count from 1.

    @inline(__always)
    func bind(_ value: UInt64, at position: Int32) {
        // Sequences and counts stay far below 2^63.
        sqlite3_bind_int64(pointer, position, Int64(bitPattern: value))
    }

    @inline(__always)
    func bind(_ value: Int, at position: Int32) {
        sqlite3_bind_int64(pointer, position, Int64(value))
    }

    @inline(__always)
    func bindNull(at position: Int32) {
        sqlite3_bind_null(pointer, position)
    }

    /// Binds text by a copy: right for what is short, as IDs are.
    @inline(__always)
    func bind(copying text: String, at position: Int32) {
        var text = text
        text.withUTF8 { bytes in
            bind(bytes, at: position, kith_sqlite_transient())
        }
    }

    /// Binds text by a copy.
    @inline(__always)
    func bind(copyingText bytes: [UInt8], at position: Int32) {
        bytes.withUnsafeBufferPointer { bind($0, at: position, kith_sqlite_transient()) }
    }

    /// Binds a BLOB by a copy.
    @inline(__always)
    func bind(copyingBlob bytes: [UInt8], at position: Int32) {
        _ = bytes.withUnsafeBytes { bytes in
            // An empty array may have no address, which would mean NULL.
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(pointer, position, 0)
                : sqlite3_bind_blob64(
                    pointer, position, bytes.baseAddress, UInt64(bytes.count), kith_sqlite_transient())
        }
    }

    /// Binds text without a copy: the bytes have to stay where they are until the statement has run.
    @inline(__always)
    func bind(unownedText bytes: UnsafeBufferPointer<UInt8>, at position: Int32) {
        bind(bytes, at: position, kith_sqlite_static())
    }

    /// Binds a BLOB without a copy: the bytes have to stay where they are until the statement has run.
    @inline(__always)
    func bind(unownedBlob bytes: UnsafeBufferPointer<UInt8>, at position: Int32) {
        if let base = bytes.baseAddress {
            sqlite3_bind_blob64(pointer, position, base, UInt64(bytes.count), kith_sqlite_static())
        } else {
            sqlite3_bind_zeroblob(pointer, position, 0)
        }
    }

    private func bind(
        _ bytes: UnsafeBufferPointer<UInt8>, at position: Int32, _ ownership: sqlite3_destructor_type?
    ) {
        guard let base = bytes.baseAddress else {
            // No address would mean NULL; the empty text is something else.
            sqlite3_bind_text(pointer, position, "", 0, kith_sqlite_transient())
            return
        }
        base.withMemoryRebound(to: CChar.self, capacity: bytes.count) { text in
            _ = sqlite3_bind_text64(pointer, position, text, UInt64(bytes.count), ownership, UInt8(SQLITE_UTF8))
        }
    }

    // Running

    /// Goes to the next row, and says whether there is one.
    @inline(__always)
    func step() throws(KithError) -> Bool {
        let code = sqlite3_step(pointer)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw connection.error(code)
    }

    /// Runs a statement that gives no rows.
    @inline(__always)
    func run() throws(KithError) {
        while try step() {}
    }

    // Reading the current row. Columns count from 0.

    @inline(__always)
    func int(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(pointer, column))
    }

    @inline(__always)
    func uint(_ column: Int32) -> UInt64 {
        UInt64(bitPattern: sqlite3_column_int64(pointer, column))
    }

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(pointer, column) == SQLITE_NULL
    }

    /// The bytes of a text or BLOB column, where SQLite has them: valid until the next step or reset.
    @inline(__always)
    func unownedBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // For text in UTF-8 this is no conversion; and the count has to be asked for after the pointer.
        let base = sqlite3_column_blob(pointer, column)
        return UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(pointer, column)))
    }

    /// A copy of the bytes of a text or BLOB column.
    @inline(__always)
    func bytes(_ column: Int32) -> [UInt8] {
        [UInt8](unownedBytes(column))
    }

    /// The text of a column.
    func text(_ column: Int32) -> String {
        String(decoding: unownedBytes(column), as: UTF8.self)
    }
}
