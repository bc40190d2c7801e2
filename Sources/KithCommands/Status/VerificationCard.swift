import KithDocuments

/// Draws what two people compare: `kith peers verify`.
struct VerificationCard {
    /// As the node tells it.
    let value: JSONValue
    let moment: Moment
    let style: TerminalStyle

    var lines: [String] {
        let name = text("name")
        let words = (value["words"]?.arrayValue ?? []).compactMap(\.stringValue).map(DisplayText.safe)
        var lines = ["  On the machine \(name), type: kith peers verify. Do both screens show these words?", ""]
        for start in stride(from: 0, to: words.count, by: 4) {
            lines.append("      " + words[start..<min(start + 4, words.count)].joined(separator: "  "))
        }
        lines += ["", "  \(name)", "      \(text("id"))", "  here (\(text("ownName")))", "      \(text("ownID"))", ""]
        if let at = (value["verifiedAt"]?.stringValue).flatMap(Instant.init(parsing:)) {
            lines += ["  Compared last: \(moment.tellPoint(at))", ""]
        }
        guard let shown = value["shown"], shown != .null else { return lines }
        let since = (value["trustedAt"]?.stringValue).flatMap(Instant.init(parsing:)).map(moment.tellPoint) ?? "once"
        lines += [
            "\(StatusMarks.attention(style)) A machine that calls itself \(name) shows another key than the one that was paired \(since):",
            "      \(DisplayText.safe(shown["id"]?.stringValue ?? ""))   at \(DisplayText.safe(shown["address"]?.stringValue ?? ""))",
            "  Was \(name) set up anew? Compare this with what kith id prints there. Nothing is exchanged with it.",
            "    It is \(name)             kith peers verify PEER --accept NODE-ID",
            "    It is somebody else      nothing has to be done",
            "",
        ]
        return lines
    }

    private func text(_ name: String) -> String { DisplayText.safe(value[name]?.stringValue ?? "") }
}
