/// Text as it may be shown on a terminal.
///
/// Names come from the network (an unpaired machine chooses what it is called) and from documents, so nothing is
/// printed before control characters are made visible: an escape sequence could otherwise rewrite the screen.
enum DisplayText {
    /// The text with every control character, line separator and bidirectional override written as `\u{…}`.
    static func safe(_ text: String) -> String {
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar.value) {
                result += "\\u{" + String(scalar.value, radix: 16) + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func isUnsafe(_ value: UInt32) -> Bool {
        switch value {
        case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0x061C, 0xFEFF: true
        default: false
        }
    }

    /// How many columns of a terminal the text takes.
    static func width(_ text: String) -> Int {
        var columns = 0
        for scalar in text.unicodeScalars { columns += width(of: scalar.value) }
        return columns
    }

    /// Combining marks take no column; East Asian wide characters and emoji take two (UAX #11, coarse ranges).
    private static func width(of value: UInt32) -> Int {
        switch value {
        case 0..<0x300: 1
        case 0x300...0x36F, 0x483...0x489, 0x591...0x5BD, 0x64B...0x65F, 0x200B...0x200D, 0x20D0...0x20FF,
            0xFE00...0xFE0F, 0xFE20...0xFE2F:
            0
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
            0x20000...0x3FFFD:
            2
        default: 1
        }
    }

    /// The text with spaces after it up to a width.
    static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    /// The text cut to a width, with a mark where something is missing.
    static func cut(_ text: String, to columns: Int, unicode: Bool) -> String {
        if width(text) <= columns { return text }
        let mark = unicode ? "…" : "..."
        var result = ""
        var used = width(mark)
        for scalar in text.unicodeScalars {
            used += width(of: scalar.value)
            if used > columns { break }
            result.unicodeScalars.append(scalar)
        }
        return result + mark
    }

    /// The text in lines of at most a width, broken at spaces; a longer word keeps its own line.
    static func wrapped(_ text: String, width columns: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in text.split(separator: " ") {
            if !line.isEmpty, width(line) + 1 + width(String(word)) > columns {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        if !line.isEmpty || lines.isEmpty { lines.append(line) }
        return lines
    }

    /// Whether two texts have the same bytes. Swift's `==` would take a composed and a decomposed letter for the same.
    static func same(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
}
