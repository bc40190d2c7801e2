// A text is first made canonical, which checks everything there is to check; then the tree is read from the canonical
// bytes, where nothing can be wrong, keys are in order, and the kind of each number shows in its text.
extension JSONValue {
    /// Reads a JSON text.
    ///
    /// - Parameter bytesMax: the most bytes that the text may have.
    /// - Throws: `bad_document`, or `too_large`, for the same reasons as `CanonicalJSON`.
    public init(
        parsing bytes: UnsafeRawBufferPointer, bytesMax: Int = DocumentLimits.documentBytesMax
    ) throws(KithError) {
        self.init(canonical: try CanonicalJSON.canonicalize(bytes, bytesMax: bytesMax))
    }

    /// Reads a JSON text.
    ///
    /// - Parameter bytesMax: the most bytes that the text may have.
    /// - Throws: `bad_document`, or `too_large`, for the same reasons as `CanonicalJSON`.
    public init(parsing bytes: [UInt8], bytesMax: Int = DocumentLimits.documentBytesMax) throws(KithError) {
        self.init(canonical: try CanonicalJSON.canonicalize(bytes, bytesMax: bytesMax))
    }

    /// Reads a JSON text.
    ///
    /// - Throws: `bad_document`, or `too_large`, for the same reasons as `CanonicalJSON`.
    public init(parsing text: String) throws(KithError) {
        try self.init(parsing: Array(text.utf8))
    }

    /// Reads bytes that are known to be canonical, such as a stored body. Other bytes give some value or `null`.
    public init(canonical bytes: [UInt8]) {
        self = bytes.withUnsafeBufferPointer { buffer in
            var reader = CanonicalReader(bytes: buffer)
            return reader.value()
        }
    }
}

/// Reads canonical JSON. On other bytes it stays within the buffer, ends, and gives some value.
private struct CanonicalReader {
    let bytes: UnsafeBufferPointer<UInt8>
    var next = 0
    /// Nested at most `DocumentLimits.nestingLevelsMax` deep, so the recursion is bounded.
    var depth = 0

    init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    private var byte: UInt8 { next < bytes.count ? bytes[next] : 0 }

    mutating func value() -> JSONValue {
        switch byte {
        case UInt8(ascii: "{"): return object()
        case UInt8(ascii: "["): return array()
        case UInt8(ascii: "\""): return .string(string())
        case UInt8(ascii: "t"):
            next += 4
            return .bool(true)
        case UInt8(ascii: "f"):
            next += 5
            return .bool(false)
        case UInt8(ascii: "n"):
            next += 4
            return .null
        default: return number()
        }
    }

    private mutating func object() -> JSONValue {
        guard enter() else { return .null }
        var members: [JSONObject.Element] = []
        while byte == UInt8(ascii: "\"") {
            let name = string()
            next += 1
            members.append((name, value()))
            guard byte == UInt8(ascii: ",") else { break }
            next += 1
        }
        leave()
        return .object(JSONObject(sorted: members))
    }

    private mutating func array() -> JSONValue {
        guard enter() else { return .null }
        var elements: [JSONValue] = []
        while next < bytes.count, byte != UInt8(ascii: "]") {
            let before = next
            elements.append(value())
            guard next > before, byte == UInt8(ascii: ",") else { break }
            next += 1
        }
        leave()
        return .array(elements)
    }

    private mutating func enter() -> Bool {
        next += 1
        depth += 1
        if depth <= DocumentLimits.nestingLevelsMax { return true }
        next = bytes.count
        return false
    }

    private mutating func leave() {
        next += 1
        depth -= 1
    }

    private mutating func string() -> String {
        next += 1
        let start = next
        var isEscaped = false
        while next < bytes.count, bytes[next] != UInt8(ascii: "\"") {
            if bytes[next] == UInt8(ascii: "\\") {
                isEscaped = true
                next += 1
            }
            next += 1
        }
        let end = min(next, bytes.count)
        next += 1
        let text = UnsafeBufferPointer(rebasing: bytes[min(start, end)..<end])
        guard isEscaped else { return String(decoding: text, as: UTF8.self) }
        return String(decoding: Self.unescape(text), as: UTF8.self)
    }

    private static func unescape(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\"), index + 1 < text.count else {
                result.append(text[index])
                index += 1
                continue
            }
            index += 2
            switch text[index - 1] {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                // In canonical form only control characters are written so.
                guard index + 4 <= text.count, let base = text.baseAddress else { return result }
                result.append(UInt8(truncatingIfNeeded: Hex.value4(base + index)))
                index += 4
            case let other: result.append(other)
            }
        }
        return result
    }

    private mutating func number() -> JSONValue {
        // A word that was cut off may have led beyond the end.
        next = min(next, bytes.count)
        let start = next
        var isInteger = true
        scan: while next < bytes.count {
            switch bytes[next] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): break
            case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "+"): isInteger = false
            default: break scan
            }
            next += 1
        }
        let text = UnsafeBufferPointer(rebasing: bytes[start..<next])
        if isInteger, let value = Self.int64(text) { return .integer(value) }
        let string = String(decoding: text, as: UTF8.self)
        if isInteger { return text.isEmpty ? .null : .largeInteger(string) }
        return Double(string).map { .double($0) } ?? .null
    }

    private static func int64(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        guard text.count > (isNegative ? 1 : 0) else { return nil }
        var value: Int64 = 0
        for byte in text.dropFirst(isNegative ? 1 : 0) {
            let digit = Int64(byte) - Int64(UInt8(ascii: "0"))
            // Counted downwards, since the lowest number has no positive counterpart.
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (difference, overflowsToo) = product.subtractingReportingOverflow(digit)
            guard digit >= 0, !overflows, !overflowsToo else { return nil }
            value = difference
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }
}
