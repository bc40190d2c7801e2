extension JSONValue {
    /// The canonical form, as `CanonicalJSON` has it.
    public func canonicalBytes() -> [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }

    /// The canonical form as text.
    public func canonicalText() -> String { String(decoding: canonicalBytes(), as: UTF8.self) }

    /// Text for people: one member or element a line, two blanks for each level, without a line end at the end.
    public func prettyText() -> String {
        var output: [UInt8] = []
        appendPretty(level: 0, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends the canonical form.
    public func append(to output: inout [UInt8]) {
        switch self {
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            output.append(UInt8(ascii: "{"))
            for (index, member) in object.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                Self.append(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        default: appendScalar(to: &output)
        }
    }

    private func appendPretty(level: Int, to output: inout [UInt8]) {
        func newLine(_ level: Int) {
            output.append(UInt8(ascii: "\n"))
            output.append(contentsOf: repeatElement(UInt8(ascii: " "), count: level * 2))
        }
        switch self {
        case .array(let elements) where !elements.isEmpty:
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                element.appendPretty(level: level + 1, to: &output)
            }
            newLine(level)
            output.append(UInt8(ascii: "]"))
        case .object(let object) where !object.isEmpty:
            output.append(UInt8(ascii: "{"))
            for (index, member) in object.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                newLine(level + 1)
                Self.append(member.name, to: &output)
                output.append(contentsOf: [UInt8(ascii: ":"), UInt8(ascii: " ")])
                member.value.appendPretty(level: level + 1, to: &output)
            }
            newLine(level)
            output.append(UInt8(ascii: "}"))
        default: append(to: &output)
        }
    }

    private func appendScalar(to output: inout [UInt8]) {
        switch self {
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .integer(let value): output.append(contentsOf: String(value).utf8)
        case .largeInteger(let digits): output.append(contentsOf: digits.utf8)
        case .double(let value) where value.isFinite:
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: NumberText.bytesMax) { buffer in
                guard let base = buffer.baseAddress else { return }
                let count = NumberText(value).write(to: base)
                output.append(contentsOf: UnsafeBufferPointer(start: base, count: count))
            }
        case .string(let text): Self.append(text, to: &output)
        default: output.append(contentsOf: "null".utf8)
        }
    }

    /// Appends a string with its quotes and the shortest legal escapes.
    public static func append(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        let needsEscapes = text.utf8.contains { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }
        if needsEscapes {
            for byte in text.utf8 {
                guard byte < 0x20 || byte == 0x22 || byte == 0x5C else {
                    output.append(byte)
                    continue
                }
                output.append(UInt8(ascii: "\\"))
                if let short = JSONEscape.short(byte) {
                    output.append(short)
                } else {
                    output.append(contentsOf: "u00".utf8)
                    output.append(Hex.digit(byte >> 4))
                    output.append(Hex.digit(byte & 0xF))
                }
            }
        } else {
            output.append(contentsOf: text.utf8)
        }
        output.append(UInt8(ascii: "\""))
    }
}
