/// Rows of cells in columns as wide as what stands in them.
struct TextTable {
    /// A cell and how it is painted.
    struct Cell {
        let text: String
        let paint: Paint?

        init(_ text: String, _ paint: Paint? = nil) {
            self.text = text
            self.paint = paint
        }
    }

    private var rows: [[Cell]] = []
    private let style: TerminalStyle
    /// Columns whose text stands at the right end, as numbers do.
    private let rightAligned: Set<Int>
    private let indent = 2
    private let gap = 3

    init(_ style: TerminalStyle, rightAligned: Set<Int> = []) {
        self.style = style
        self.rightAligned = rightAligned
    }

    mutating func add(_ cells: [Cell]) { rows.append(cells) }

    /// The rows as lines; the first column, which holds a name, gives way when they are too wide.
    var lines: [String] {
        let count = rows.map(\.count).max() ?? 0
        var widths = (0..<count).map { column in
            rows.map { column < $0.count ? DisplayText.width($0[column].text) : 0 }.max() ?? 0
        }
        let total = indent + widths.reduce(0, +) + gap * max(0, count - 1)
        if total > style.columns, let first = widths.first {
            widths[0] = max(min(first, 8), first - (total - style.columns))
        }
        return rows.map { row in
            var line = String(repeating: " ", count: indent)
            for (column, cell) in row.enumerated() {
                let text =
                    column == 0
                    ? DisplayText.cut(cell.text, to: widths[0], unicode: style.usesUnicode) : cell.text
                let padding = String(repeating: " ", count: widths[column] - DisplayText.width(text))
                let painted = cell.paint?.apply(text, style) ?? text
                let isLast = column == row.count - 1
                line += rightAligned.contains(column) ? padding + painted : painted + (isLast ? "" : padding)
                if !isLast { line += String(repeating: " ", count: gap) }
            }
            // A row may end with empty cells.
            while line.utf8.last == UInt8(ascii: " ") { line.removeLast() }
            return line
        }
    }
}
