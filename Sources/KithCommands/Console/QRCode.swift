import CQRencode
import Glibc
import KithDocuments

/// A QR code (ISO/IEC 18004) as lines of text, two rows of modules in each.
struct QRCode {
    /// How many modules a side has, without the quiet zone.
    let size: Int
    /// Row by row; whether a module is dark.
    private let isDark: [Bool]

    /// Modules of quiet zone on each side (ISO/IEC 18004, section 6.3.8).
    static let quietModules = 4

    /// - Parameter text: kept as bytes, in the smallest version that takes it at level L: a screen has no dirt on it.
    /// - Throws: `.tooLarge` when no version takes it; `.internal` when there is no memory.
    init(_ text: String) throws(KithError) {
        let bytes = Array(text.utf8)
        guard let code = QRcode_encodeData(Int32(bytes.count), bytes, 0, QR_ECLEVEL_L) else {
            throw errno == ERANGE
                ? KithError(.tooLarge, "the text is too long for a QR code")
                : KithError(.internal, "the QR code cannot be made")
        }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        guard let data = code.pointee.data else { throw KithError(.internal, "the QR code has no picture") }
        size = width
        // The lowest bit of each byte is the module; the others say what it is for.
        isDark = (0..<width * width).map { data[$0] & 1 == 1 }
    }

    /// Whether a module is dark; those around the code are not.
    func isDark(row: Int, column: Int) -> Bool {
        guard (0..<size).contains(row), (0..<size).contains(column) else { return false }
        return isDark[row * size + column]
    }

    /// The lines to print, with the quiet zone.
    ///
    /// With colours it is black on white whatever the terminal has. Without, the terminal's own are used as if it were dark: the light
    /// modules are painted. Where half blocks cannot be shown, each module takes two characters.
    func rows(_ style: TerminalStyle) -> [String] {
        let all = Array(-Self.quietModules..<size + Self.quietModules)
        guard style.usesUnicode else { return all.map { row in plainRow(row, all, style) } }
        return stride(from: 0, to: all.count, by: 2).map { index in
            let line = all.map { column in
                let upper = isDark(row: all[index], column: column)
                // Below the last row the quiet zone goes on.
                let lower = index + 1 < all.count && isDark(row: all[index + 1], column: column)
                switch (upper == style.usesColour, lower == style.usesColour) {
                case (true, true): return "█"
                case (true, false): return "▀"
                case (false, true): return "▄"
                case (false, false): return " "
                }
            }
            // Black on white of the 256 colours: the first eight are often others (ECMA-48, section 8.3.117).
            return style.usesColour ? "\u{1B}[38;5;16;48;5;231m\(line.joined())\u{1B}[0m" : line.joined()
        }
    }

    /// How many columns a row takes.
    func columns(_ style: TerminalStyle) -> Int { (size + 2 * Self.quietModules) * (style.usesUnicode ? 1 : 2) }

    private func plainRow(_ row: Int, _ all: [Int], _ style: TerminalStyle) -> String {
        guard style.usesColour else { return all.map { isDark(row: row, column: $0) ? "  " : "##" }.joined() }
        let cells = all.map { isDark(row: row, column: $0) ? "\u{1B}[48;5;16m  " : "\u{1B}[48;5;231m  " }
        return cells.joined() + "\u{1B}[0m"
    }
}
