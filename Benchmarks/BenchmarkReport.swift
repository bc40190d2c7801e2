import KithDocuments

/// Prints rows as they come: a table for people, or one JSON object a line.
struct BenchmarkReport {
    let isJSON: Bool

    func heading() {
        guard !isJSON else { return }
        print(Self.line("SUITE", "ROW", "FIGURE", "UNIT", "RATIO", "BAR", ""))
    }

    func add(_ row: BenchmarkRow) {
        if isJSON {
            print(String(decoding: row.json.canonicalBytes(), as: UTF8.self))
        } else {
            func text(_ value: Double?) -> String {
                guard let value = value.map(BenchmarkRow.rounded) else { return "-" }
                return value == value.rounded() ? String(Int(value)) : String(value)
            }
            let bar = row.bar == nil ? "-" : (row.isCost ? "<= " : ">= ") + text(row.bar)
            let isMissed = row.holds == false ? "missed" : ""
            print(Self.line(row.suite, row.row, text(row.figure), row.unit, text(row.ratio), bar, isMissed))
        }
    }

    func add(
        _ suite: String, _ row: String, _ figure: Double, _ unit: String, ratio: Double? = nil, least: Double? = nil,
        most: Double? = nil
    ) {
        add(
            BenchmarkRow(
                suite: suite, row: row, figure: figure, unit: unit, ratio: ratio, bar: least ?? most,
                isCost: most != nil))
    }

    private static func line(_ columns: String...) -> String {
        let widths = [12, 62, 10, 14, 8, 10, 6]
        return zip(columns, widths).map { $0 + String(repeating: " ", count: max(1, $1 - $0.count)) }.joined()
    }
}
