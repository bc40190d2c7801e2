/// Finds the parts of a JSON text without looking into them: for a request with many documents, of which each is then
/// read on its own, so that one that cannot be kept does not refuse the others.
///
/// Only brackets, quotes and separators are followed. Whether a part is JSON at all shows when it is read.
public enum JSONOutline {
    /// The members of the object that this text is, in the order of the text.
    ///
    /// - Throws: `bad_document` when the text is not an object as far as its outline goes.
    public static func members(
        of bytes: UnsafeRawBufferPointer
    ) throws(KithError) -> [(name: String, range: Range<Int>)] {
        var members: [(name: String, range: Range<Int>)] = []
        do throws(JSONFailure) {
            var scanner = Scanner(bytes: bytes, next: 0)
            scanner.skipBlanks()
            guard scanner.byte == UInt8(ascii: "{") else { throw scanner.failure(.notAnObject) }
            try scanner.list(end: UInt8(ascii: "}")) { (scanner) throws(JSONFailure) in
                let key = try scanner.string()
                scanner.skipBlanks()
                try scanner.expect(UInt8(ascii: ":"))
                scanner.skipBlanks()
                let range = try scanner.value()
                guard let name = Self.name(UnsafeRawBufferPointer(rebasing: bytes[key])) else {
                    throw JSONFailure(kind: .badEscape, offset: key.lowerBound)
                }
                members.append((name, range))
            }
            scanner.skipBlanks()
            guard scanner.next == bytes.count else { throw scanner.failure(.trailingBytes) }
        } catch {
            throw error.error(in: bytes)
        }
        return members
    }

    /// The elements of the array that lies at `range` of this text, as ranges of the same text.
    ///
    /// - Throws: `bad_document` when there is no array as far as its outline goes.
    public static func elements(
        of bytes: UnsafeRawBufferPointer, in range: Range<Int>
    ) throws(KithError) -> [Range<Int>] {
        var elements: [Range<Int>] = []
        let text = UnsafeRawBufferPointer(rebasing: bytes[..<range.upperBound])
        do throws(JSONFailure) {
            var scanner = Scanner(bytes: text, next: range.lowerBound)
            scanner.skipBlanks()
            guard scanner.byte == UInt8(ascii: "[") else { throw scanner.failure(.unexpectedByte) }
            try scanner.list(end: UInt8(ascii: "]")) { (scanner) throws(JSONFailure) in
                elements.append(try scanner.value())
            }
            scanner.skipBlanks()
            guard scanner.next == text.count else { throw scanner.failure(.trailingBytes) }
        } catch {
            throw error.error(in: bytes)
        }
        return elements
    }

    private static func name(_ text: UnsafeRawBufferPointer) -> String? {
        (try? JSONValue(parsing: text))?.stringValue
    }

    private struct Scanner {
        let bytes: UnsafeRawBufferPointer
        var next: Int

        /// The byte to be read, 0 at the end.
        var byte: UInt8 { next < bytes.count ? bytes[next] : 0 }

        func failure(_ kind: JSONFailure.Kind) -> JSONFailure {
            JSONFailure(kind: next < bytes.count ? kind : .unexpectedEnd, offset: next)
        }

        mutating func skipBlanks() {
            while next < bytes.count {
                switch bytes[next] {
                case 0x20, 0x09, 0x0A, 0x0D: next += 1
                default: return
                }
            }
        }

        mutating func expect(_ expected: UInt8) throws(JSONFailure) {
            guard byte == expected else { throw failure(.unexpectedByte) }
            next += 1
        }

        /// What stands between brackets, of which the first is next, with commas between.
        mutating func list(
            end: UInt8, _ element: (inout Scanner) throws(JSONFailure) -> Void
        ) throws(JSONFailure) {
            next += 1
            skipBlanks()
            if byte == end {
                next += 1
                return
            }
            while true {
                try element(&self)
                skipBlanks()
                if byte == end {
                    next += 1
                    return
                }
                try expect(UInt8(ascii: ","))
                skipBlanks()
            }
        }

        /// A string with its quotes.
        mutating func string() throws(JSONFailure) -> Range<Int> {
            let start = next
            try expect(UInt8(ascii: "\""))
            while next < bytes.count {
                let byte = bytes[next]
                next += byte == UInt8(ascii: "\\") ? 2 : 1
                if byte == UInt8(ascii: "\"") { return start..<next }
            }
            next = bytes.count
            throw failure(.unexpectedEnd)
        }

        /// Any value.
        mutating func value() throws(JSONFailure) -> Range<Int> {
            let start = next
            var depth = 0
            while next < bytes.count {
                switch bytes[next] {
                case UInt8(ascii: "\""):
                    _ = try string()
                    if depth == 0 { return start..<next }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if depth == 0 { return try token(from: start) }
                    depth -= 1
                    if depth == 0 {
                        next += 1
                        return start..<next
                    }
                case UInt8(ascii: ","), 0x20, 0x09, 0x0A, 0x0D:
                    if depth == 0 { return try token(from: start) }
                default: break
                }
                next += 1
            }
            if depth == 0 { return try token(from: start) }
            throw failure(.unexpectedEnd)
        }

        private func token(from start: Int) throws(JSONFailure) -> Range<Int> {
            guard next > start else { throw failure(.unexpectedByte) }
            return start..<next
        }
    }
}
