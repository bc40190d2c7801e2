import KithDocuments

/// How it is told that two machines are paired.
enum PairedText {
    /// - Parameter value: with `peer`, the name in the book, and `short`, its ID.
    static func line(_ value: JSONValue, _ style: TerminalStyle) -> String {
        let name = DisplayText.safe(value["peer"]?.stringValue ?? "")
        return "\(StatusMarks.good(style)) Paired with \(name)  \(DisplayText.safe(value["short"]?.stringValue ?? ""))"
    }

    /// That the other machine was revoked here before; nil when it was not.
    static func wasRevoked(_ value: JSONValue, _ style: TerminalStyle) -> String? {
        guard let revocation = value["revocation"] else { return nil }
        let name = DisplayText.safe(value["peer"]?.stringValue ?? "")
        return
            "\(StatusMarks.attention(style)) \(name) was revoked \(PeerCard.revocation(revocation, .current)). The code has let it in again, on this node; to take that back: kith peers revoke \(DisplayText.safe(value["short"]?.stringValue ?? ""))"
    }

    /// What one side may do at the other.
    ///
    /// - Parameters:
    ///   - terms: with `access` and `databases`, where something was said.
    ///   - who: `You` or `It`.
    static func shared(_ terms: JSONValue?, who: String) -> String {
        if terms?["as_before"]?.boolValue == true {
            return "What \(who.lowercased()) may do stays as it was: kith peers"
        }
        let what =
            switch terms?["access"]?.stringValue {
            case "read": "read"
            case "write": "write"
            default: "read and write"
            }
        let names = (terms?["databases"]?.arrayValue ?? []).compactMap(\.stringValue).map(DisplayText.safe)
        return "\(who) may \(what) \(names.isEmpty ? "databases of the same name" : names.joined(separator: ", "))."
    }
}
