/// Numbers as people read them.
enum Quantity {
    /// With a comma between groups of three digits: `1,204`.
    static func grouped(_ number: Int) -> String {
        let digits = Array(String(number.magnitude).utf8)
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.unicodeScalars.append(Unicode.Scalar(digit))
        }
        return text
    }

    /// A number and its noun: `1 document`, `1,204 documents`.
    static func of(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
        grouped(number) + " " + (number == 1 ? singular : plural ?? singular + "s")
    }

    /// A size in units of 1,024 with one digit after the point: `18.2 MB`.
    static func bytes(_ count: Int) -> String {
        if count < 1024 { return of(count, "byte") }
        let units = ["KB", "MB", "GB", "TB", "PB"]
        var unit = 0
        var size = 1024
        // Up to 1023.9 of a unit, after rounding.
        while unit < units.count - 1, count / size >= 1024 || tenths(count, size) >= 10_240 {
            size *= 1024
            unit += 1
        }
        let rounded = tenths(count, size)
        return "\(grouped(rounded / 10)).\(rounded % 10) \(units[unit])"
    }

    private static func tenths(_ count: Int, _ size: Int) -> Int {
        let whole = count / size
        return whole * 10 + ((count % size) * 10 + size / 2) / size
    }

    /// Thousandths of a second as seconds with one digit after the point: `0.8 s`.
    static func seconds(milliseconds: Int) -> String { "\(milliseconds / 1000).\(milliseconds % 1000 / 100) s" }
}
