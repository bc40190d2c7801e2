/// Comparisons and checks of text as UTF-8 bytes.
///
/// Swift's `String ==` is canonical equivalence: it takes `é` composed and decomposed as equal, which documents, their
/// IDs and their keys do not.
enum ByteText {
    /// Whether two strings have the same UTF-8 bytes.
    @inline(__always)
    static func equal(_ a: String, _ b: String) -> Bool {
        let left = a.utf8
        let right = b.utf8
        guard left.count == right.count else { return false }
        return compare(a, b) == 0
    }

    /// Negative, zero or positive as `a` sorts before, with or after `b` by UTF-8 bytes.
    static func compare(_ a: String, _ b: String) -> Int {
        let fast = a.utf8.withContiguousStorageIfAvailable { left in
            b.utf8.withContiguousStorageIfAvailable { right in
                compare(UnsafeRawBufferPointer(left), UnsafeRawBufferPointer(right))
            }
        }
        if let fast, let result = fast { return result }
        return compare(Array(a.utf8), Array(b.utf8))
    }

    /// Negative, zero or positive as `a` sorts before, with or after `b`.
    static func compare(_ a: [UInt8], _ b: [UInt8]) -> Int {
        a.withUnsafeBytes { left in b.withUnsafeBytes { right in compare(left, right) } }
    }

    /// Negative, zero or positive as `a` sorts before, with or after `b`; a shorter one comes before what it begins.
    @inline(__always)
    static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = min(a.count, b.count)
        var index = 0
        while index < common {
            let left = a[index]
            let right = b[index]
            if left != right { return Int(left) - Int(right) }
            index += 1
        }
        return a.count - b.count
    }

    /// The UTF-8 bytes of `text` in one piece, without a copy where the string allows it.
    @inline(__always)
    static func withBytes<T>(of text: String, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        if let result = text.utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) {
            return result
        }
        return Array(text.utf8).withUnsafeBytes(body)
    }

    /// The text that these bytes spell, or `nil` when they are not valid UTF-8.
    static func string(validating bytes: UnsafeRawBufferPointer) -> String? {
        guard !bytes.isEmpty else { return "" }
        guard let text = try? UTF8Span(validating: Span(_unsafeElements: bytes.bindMemory(to: UInt8.self))) else {
            return nil
        }
        return String(copying: text)
    }
}
