import KithDocuments

/// How it is told that two machines are paired.
enum PairedText {
    /// - Parameter value: with `peer`, the name in the book, and `short`, its ID.
    static func line(_ value: JSONValue, _ style: TerminalStyle) -> String {
        let name = DisplayText.safe(value["peer"]?.stringValue ?? "")
        return "\(StatusMarks.good(style)) Paired with \(name)  \(DisplayText.safe(value["short"]?.stringValue ?? ""))"
    }
}
