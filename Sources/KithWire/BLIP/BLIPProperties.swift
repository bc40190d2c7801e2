import Glibc

/// The properties of a BLIP message: names with values, kept as the bytes that travel (blip.md §7).
///
/// Names are compared byte by byte. Order has no meaning; of two properties with one name the first counts.
///
/// ```swift
/// var properties: BLIPProperties = ["Profile": "rev", "id": "doc-1"]
/// properties["deleted"] = "true"
/// ```
public struct BLIPProperties: Sendable, ExpressibleByDictionaryLiteral {
    /// `(name NUL value NUL)*`, without the length. Always an even number of NULs, the last byte being one.
    var block: [UInt8]

    /// No properties.
    public init() {
        block = []
    }

    /// The properties in the order given. Each name must appear once (checked in debug builds).
    ///
    /// A NUL inside a name or value would break the framing; it travels as U+FFFD.
    public init(_ pairs: [(String, String)]) {
        block = []
        var byteCount = 0
        for (name, value) in pairs { byteCount += name.utf8.count + value.utf8.count + 2 }
        block.reserveCapacity(byteCount)
        for (name, value) in pairs { append(name, value) }
    }

    /// The properties in the order given, as ``init(_:)``.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements)
    }

    /// Takes a property block as it came; `nil` unless it is empty or pairs of texts that each end in NUL.
    init?(block: [UInt8]) {
        guard block.withUnsafeBytes(Self.isWellFormed) else { return nil }
        self.block = block
    }

    /// Whether a block is empty or ends in NUL with an even number of NULs. UTF-8 is checked when a value is read: one
    /// name that is no text spoils its message, not the connection.
    static func isWellFormed(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count > 0, let base = bytes.baseAddress else { return true }
        guard bytes[bytes.count - 1] == 0 else { return false }
        let end = base + bytes.count
        var position = base
        var isEven = true
        while position < end, let nul = memchr(position, 0, end - position) {
            isEven.toggle()
            position = UnsafeRawPointer(nul) + 1
        }
        return isEven
    }

    /// Whether there are none.
    public var isEmpty: Bool { block.isEmpty }

    /// The bytes that the properties take on the wire, without their length.
    public var byteCount: Int { block.count }

    /// The value of a property; `nil` when it is absent or not valid UTF-8. Setting replaces, `nil` removes.
    public subscript(name: String) -> String? {
        get {
            withValue(of: name) { UTF8Text.string($0) } ?? nil
        }
        set {
            remove(name)
            if let newValue { append(name, newValue) }
        }
    }

    /// Appends a property whose name is not there yet (checked in debug builds): faster than the subscript.
    public mutating func append(_ name: String, _ value: String) {
        assert(!contains(name), "a BLIP property is given twice")
        appendText(name)
        appendText(value)
    }

    /// Appends a property whose value is written straight into the block: no text is made of it. A NUL in it travels as
    /// U+FFFD, as in any other value.
    ///
    /// - Parameters:
    ///   - name: is not there yet (checked in debug builds).
    ///   - write: appends the value, and changes nothing else.
    public mutating func append(_ name: String, writing write: (inout [UInt8]) -> Void) {
        assert(!contains(name), "a BLIP property is given twice")
        appendText(name)
        let start = block.count
        write(&block)
        if block[start...].contains(0) {
            let value = String(decoding: block[start...], as: UTF8.self)
            block.removeLast(block.count - start)
            return appendText(value)
        }
        block.append(0)
    }

    /// Makes room for so many more bytes of names, values and a NUL behind each.
    public mutating func reserve(byteCount: Int) { block.reserveCapacity(block.count + byteCount) }

    /// Calls `body` with each name and value, in one pass and without copies. Of two with one name both come, the one that
    /// counts first.
    public func forEach(_ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void) {
        block.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return }
            var start = 0
            while start < bytes.count {
                let valueStart = start + strlen(base + start) + 1
                let valueEnd = valueStart + strlen(base + valueStart)
                body(
                    UnsafeRawBufferPointer(rebasing: bytes[start..<(valueStart - 1)]),
                    UnsafeRawBufferPointer(rebasing: bytes[valueStart..<valueEnd]))
                start = valueEnd + 1
            }
        }
    }

    /// Whether a property is there, be its value valid UTF-8 or not.
    public func contains(_ name: String) -> Bool {
        withValue(of: name) { _ in true } ?? false
    }

    /// Calls `body` with the bytes of a property's value, without a copy; `nil` when the property is absent.
    public func withValue<Result>(of name: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        var name = name
        return name.withUTF8 { key in
            block.withUnsafeBytes { bytes in
                guard let (_, value) = Self.find(UnsafeRawBufferPointer(key), in: bytes) else { return nil }
                return body(UnsafeRawBufferPointer(rebasing: bytes[value]))
            }
        }
    }

    /// A truth value: `true`, `YES`, `false`, `NO` in any case, otherwise a decimal integer that is or is not 0.
    /// What cannot be read is `default`, also what is absent.
    public func bool(_ name: String, default defaultValue: Bool = false) -> Bool {
        let read: Bool?? = withValue(of: name) { bytes in
            if Self.equalsIgnoringCase(bytes, "true") || Self.equalsIgnoringCase(bytes, "yes") { return true }
            if Self.equalsIgnoringCase(bytes, "false") || Self.equalsIgnoringCase(bytes, "no") { return false }
            return Self.decimal(bytes).map { $0 != 0 }
        }
        return (read ?? nil) ?? defaultValue
    }

    /// A whole number in decimal, with or without a minus sign; `nil` when absent, when anything else stands there, or
    /// when it does not fit in 64 bits.
    public func int(_ name: String) -> Int? {
        withValue(of: name) { Self.decimal($0) } ?? nil
    }

    /// All names and values in wire order, repaired where they are not valid UTF-8: for tests and diagnosis.
    public var pairs: [(name: String, value: String)] {
        var result: [(name: String, value: String)] = []
        var isName = true
        var name = ""
        for piece in block.split(separator: 0, omittingEmptySubsequences: false).dropLast() {
            if isName {
                name = String(decoding: piece, as: UTF8.self)
            } else {
                result.append((name, String(decoding: piece, as: UTF8.self)))
            }
            isName.toggle()
        }
        return result
    }

    private mutating func remove(_ name: String) {
        while true {
            var name = name
            let found = name.withUTF8 { key in
                block.withUnsafeBytes { Self.find(UnsafeRawBufferPointer(key), in: $0) }
            }
            guard let (start, value) = found else { return }
            block.removeSubrange(start..<(value.upperBound + 1))
        }
    }

    private mutating func appendText(_ text: String) {
        var text = text
        text.withUTF8 { bytes in
            if let base = bytes.baseAddress, memchr(base, 0, bytes.count) != nil {
                for byte in bytes {
                    if byte == 0 { block.append(contentsOf: [0xEF, 0xBF, 0xBD]) } else { block.append(byte) }
                }
            } else {
                block.append(contentsOf: bytes)
            }
        }
        block.append(0)
    }

    /// Where the property begins and where its value lies. Relies on the block's form: every `strlen` ends inside it.
    private static func find(
        _ key: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer
    ) -> (start: Int, value: Range<Int>)? {
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return nil }
        var start = 0
        while start < bytes.count {
            let nameCount = strlen(base + start)
            let valueStart = start + nameCount + 1
            let valueEnd = valueStart + strlen(base + valueStart)
            if nameCount == key.count {
                guard nameCount > 0, let keyBase = key.baseAddress else { return (start, valueStart..<valueEnd) }
                if memcmp(base + start, keyBase, nameCount) == 0 { return (start, valueStart..<valueEnd) }
            }
            start = valueEnd + 1
        }
        return nil
    }

    private static func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, _ lowercase: StaticString) -> Bool {
        guard bytes.count == lowercase.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] | 0x20 != lowercase.utf8Start[index] { return false }
        return true
    }

    private static func decimal(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative { index = 1 }
        guard index < bytes.count else { return nil }
        var value = 0
        while index < bytes.count {
            let digit = Int(bytes[index]) - 48
            guard (0...9).contains(digit) else { return nil }
            let (product, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) =
                isNegative
                ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflow || overflowToo { return nil }
            value = sum
            index += 1
        }
        return value
    }
}

extension BLIPProperties: Equatable {
    /// Same names with the same values, byte by byte, in any order.
    public static func == (a: BLIPProperties, b: BLIPProperties) -> Bool {
        a.block == b.block || (a.block.count == b.block.count && a.sortedPairs.elementsEqual(b.sortedPairs))
    }

    private var sortedPairs: [[UInt8]] {
        var result: [[UInt8]] = []
        var start = 0
        var seenNULs = 0
        for (index, byte) in block.enumerated() where byte == 0 {
            seenNULs += 1
            if seenNULs.isMultiple(of: 2) {
                result.append(Array(block[start...index]))
                start = index + 1
            }
        }
        return result.sorted { $0.lexicographicallyPrecedes($1) }
    }
}
