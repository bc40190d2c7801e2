/// The marks of the first line and of problems, with their twins for terminals without Unicode.
enum StatusMarks {
    static func good(_ style: TerminalStyle) -> String { Paint.green.apply(style.usesUnicode ? "●" : "*", style) }

    static func attention(_ style: TerminalStyle) -> String { Paint.yellow.apply("!", style) }

    static func bad(_ style: TerminalStyle) -> String { Paint.red.apply(style.usesUnicode ? "✗" : "x", style) }

    /// Eight cells, filled as far as the work is done; never full before it is.
    static func bar(completed: Int, total: Int, _ style: TerminalStyle) -> String {
        let cells = 8
        let filled = total <= 0 ? 0 : completed >= total ? cells : max(0, completed) * cells / total
        let (full, empty) = style.usesUnicode ? ("▇", "░") : ("#", ".")
        return String(repeating: full, count: filled) + String(repeating: empty, count: cells - filled)
    }
}
