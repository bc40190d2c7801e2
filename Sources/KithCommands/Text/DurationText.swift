/// Reads a length of time as it is typed.
enum DurationText {
    /// `500ms`, `60`, `60s`, `2m`, `1h` in milliseconds; `nil` for anything else, and for zero.
    static func milliseconds(_ text: String) -> Int? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, digits.count <= 9, let number = Int(String(digits) ?? ""), number > 0 else { return nil }
        switch String(text.utf8.dropFirst(digits.count)) ?? "?" {
        case "ms": return number
        case "", "s": return number * 1_000
        case "m", "min": return number * 60_000
        case "h": return number * 3_600_000
        default: return nil
        }
    }
}
