/// Draws a screen over the one before it, line by line, without clearing: nothing flickers, and what was on the terminal
/// before stays in its history.
struct RedrawnScreen {
    static let hideCursor = "\u{1B}[?25l"
    static let showCursor = "\u{1B}[?25h"

    private var rowsDrawn = 0

    /// What to write so that the lines replace those of the call before. Lines that do not fit are left out.
    mutating func frame(_ lines: [String], _ style: TerminalStyle) -> String {
        var text = rowsDrawn > 0 ? "\u{1B}[\(rowsDrawn)A\r" : ""
        var rows = 0
        for line in lines {
            let taken = max(1, (Self.columns(of: line) + style.columns - 1) / style.columns)
            // The cursor stands below the last line, which needs a row too.
            guard rows + taken < style.rows else { break }
            rows += taken
            text += line + "\u{1B}[K\n"
        }
        text += "\u{1B}[J"
        rowsDrawn = rows
        return text
    }

    /// The width of a line without its colours.
    private static func columns(of line: String) -> Int {
        var plain = ""
        var isInSequence = false
        for scalar in line.unicodeScalars {
            if isInSequence {
                if scalar == "m" { isInSequence = false }
            } else if scalar == "\u{1B}" {
                isInSequence = true
            } else {
                plain.unicodeScalars.append(scalar)
            }
        }
        return DisplayText.width(plain)
    }
}
