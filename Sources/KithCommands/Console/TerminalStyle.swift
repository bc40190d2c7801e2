import Glibc

/// What the output can show.
struct TerminalStyle: Sendable, Equatable {
    /// Whether a person looks at it: it may be redrawn, and documents are laid out.
    var isTerminal = false
    var usesColour = false
    /// Whether marks and bars may be other than ASCII.
    var usesUnicode = false
    var columns = 80
    var rows = 24

    /// Finds out about a descriptor.
    ///
    /// Colour: a terminal, `NO_COLOR` empty or absent (no-color.org), `TERM` not `dumb`. Unicode: the locale's
    /// character set, by the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
    static func detect(descriptor: Int32, environment: [String: String]) -> TerminalStyle {
        var style = TerminalStyle()
        style.isTerminal = isatty(descriptor) == 1
        style.usesUnicode = isUnicode(environment)
        guard style.isTerminal else { return style }
        let isDumb = environment["TERM"] == "dumb"
        style.usesColour = (environment["NO_COLOR"] ?? "").isEmpty && !isDumb
        (style.columns, style.rows) = size(descriptor: descriptor)
        return style
    }

    /// The columns and rows of a terminal as they are now.
    static func size(descriptor: Int32) -> (columns: Int, rows: Int) {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else { return (80, 24) }
        return (max(40, Int(size.ws_col)), Int(size.ws_row))
    }

    private static func isUnicode(_ environment: [String: String]) -> Bool {
        for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
            guard let value = environment[name], !value.isEmpty else { continue }
            let lower = value.lowercased()
            return lower.hasSuffix("utf-8") || lower.hasSuffix("utf8") || lower.contains("utf-8@")
                || lower.contains("utf8@")
        }
        return false
    }
}
