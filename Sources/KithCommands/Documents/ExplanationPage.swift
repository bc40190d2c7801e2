import KithDocuments

/// Draws where a document is, and why it is not elsewhere.
struct ExplanationPage {
    let address: DocumentAddress
    /// What the node answers to `_explain`.
    let answer: JSONValue
    let moment: Moment
    let style: TerminalStyle

    var lines: [String] {
        let peers = answer["peers"]?.arrayValue ?? []
        var lines = [heading]
        if peers.isEmpty { return lines + ["", "  There is no peer yet: no node is trusted here."] }
        let width = peers.map { DisplayText.width(name($0)) }.max() ?? 0
        lines.append("")
        for peer in peers {
            lines.append("  \(DisplayText.padded(name(peer), to: width))   \(Self.state(peer))")
            if let refusal = peer["sent"], refusal != .null {
                let whom = refusal["by"]?.stringValue == "peer" ? name(peer) : "this node"
                lines += told(refusal, "Refused by \(whom)")
            }
            if let refusal = peer["received"], refusal != .null {
                let revision = DisplayText.safe(refusal["rev"]?.stringValue ?? "")
                lines += told(refusal, "Its revision \(revision) was refused by this node")
            }
        }
        return lines
    }

    private var heading: String {
        let name = Paint.bold.apply(address.shown, style)
        guard let revision = answer["rev"]?.stringValue else { return "\(name)   is not here" }
        var text = "\(name)   \(DisplayText.safe(revision))"
        if let sequence = answer["sequence"]?.intValue { text += ", sequence \(sequence)" }
        if answer["deleted"]?.boolValue == true { text += ", deleted" }
        if let versions = answer["versions"]?.intValue, versions > 1 { text += ", \(versions) versions in conflict" }
        return text
    }

    private func name(_ peer: JSONValue) -> String { DisplayText.safe(peer["name"]?.stringValue ?? "") }

    private static func state(_ peer: JSONValue) -> String {
        let isConnected = peer["connected"]?.boolValue ?? false
        switch peer["state"]?.stringValue {
        case "there": return "there"
        case "waiting":
            let before =
                switch peer["before"]?.intValue {
                case 0: "it is next"
                case 1: "1 document comes before it"
                case let count?: "\(Quantity.grouped(count)) documents come before it"
                case nil: "not sent yet"
                }
            return "not yet: \(before)" + (isConnected ? "" : "; there is no link now")
        case "refused": return "refused"
        case "notSent": return "not sent: it may not read it, takes nothing, or a filter stops it"
        case "notShared": return "not shared: it has no database of this name"
        default: return isConnected ? "not known yet" : "not known: there has been no link yet"
        }
    }

    /// When, by whom and why, and what becomes of it.
    private func told(_ refusal: JSONValue, _ what: String) -> [String] {
        let when = refusal["at"]?.stringValue.flatMap(Instant.init(parsing:)).map { " " + moment.tell($0) } ?? ""
        let code = refusal["code"]?.intValue.map { " (\($0))" } ?? ""
        let attempts = refusal["attempts"]?.intValue ?? 1
        let again = attempts > 1 ? ", \(attempts) times" : ""
        let reason = DisplayText.safe(refusal["reason"]?.stringValue ?? "")
        return DisplayText.wrapped("\(what)\(when)\(again)\(code): \(reason)", width: style.columns - 4).map {
            "    " + $0
        } + ["    It is offered again when it changes, and on the next link."]
    }
}
