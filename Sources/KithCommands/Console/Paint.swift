/// A colour or weight on a terminal (ECMA-48 §8.3.117).
enum Paint: String, Sendable {
    case green = "32"
    case yellow = "33"
    case red = "31"
    case bold = "1"
    case dim = "2"

    /// The text in this paint, or as it is where there is no colour.
    func apply(_ text: String, _ style: TerminalStyle) -> String {
        style.usesColour && !text.isEmpty ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
    }
}
