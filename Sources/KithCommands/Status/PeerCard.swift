import KithDocuments

/// Draws what the book says of one peer: `kith peers show`.
struct PeerCard {
    /// As the node tells it.
    let peer: JSONValue
    let moment: Moment
    let style: TerminalStyle

    var lines: [String] {
        let revocation = peer["revocation"].flatMap { $0.objectValue == nil ? Optional.none : $0 }
        let isConnected = peer["connected"]?.boolValue ?? false
        let mark = revocation != nil ? StatusMarks.bad(style) : StatusMarks.good(style)
        let state = revocation != nil ? "revoked" : isConnected ? "connected" : "not connected"
        var lines = ["\(mark) \(Paint.bold.apply(text("name"), style))  \(text("short"))   \(state)"]
        func add(_ title: String, _ value: String?) {
            guard let value else { return }
            lines.append("  \(title)\(String(repeating: " ", count: max(1, 14 - title.count)))\(value)")
        }
        add("ID", text("id"))
        if let revocation { add("Revoked", Self.revocation(revocation, moment)) }
        let how =
            switch peer["pairedBy"]?.stringValue {
            case "number": ", by comparing a number"
            case "invitation": ", by an invitation"
            case "id": ", by its ID"
            case "site": ", by the site's authority"
            default: ""
            }
        add("Paired", point("trustedAt").map { $0 + how })
        add("Compared", point("verifiedAt") ?? "never: kith peers verify")
        if revocation == nil {
            add("May", PeersCommand.may(peer["access"]?.stringValue ?? "both"))
            add("Replicated", PeersCommand.replicated(peer["replication"]?.stringValue ?? "continuous"))
            for (name, sharing) in peer["databases"]?.objectValue ?? [:] {
                let may = sharing["access"]?.stringValue.map { PeersCommand.may($0) } ?? "as above"
                let replicated = sharing["replication"]?.stringValue.map { PeersCommand.replicated($0) } ?? "as above"
                add("  " + DisplayText.safe(name), "\(may), \(replicated)")
            }
        }
        add("Seen", isConnected ? "now" : instant("lastSeenAt").map(moment.tell) ?? "not since the node was started")
        for (index, address) in (peer["addresses"]?.arrayValue ?? []).enumerated() {
            add(index == 0 ? "Addresses" : "", DisplayText.safe(address.stringValue ?? ""))
        }
        for (index, id) in (peer["formerIDs"]?.arrayValue ?? []).enumerated() {
            add(index == 0 ? "Former IDs" : "", DisplayText.safe(id.stringValue ?? ""))
        }
        return lines
    }

    /// `by desk, 3 May 18:42: lost`.
    static func revocation(_ value: JSONValue, _ moment: Moment) -> String {
        let by = value["here"]?.boolValue == true ? "here" : "by " + DisplayText.safe(value["by"]?.stringValue ?? "")
        let at = (value["at"]?.stringValue).flatMap(Instant.init(parsing:)).map { ", " + moment.tellPoint($0) } ?? ""
        let reason = value["reason"]?.stringValue ?? ""
        return by + at + (reason.isEmpty ? "" : ": " + DisplayText.safe(reason))
    }

    private func text(_ name: String) -> String { DisplayText.safe(peer[name]?.stringValue ?? "") }

    private func instant(_ name: String) -> Instant? { (peer[name]?.stringValue).flatMap(Instant.init(parsing:)) }

    private func point(_ name: String) -> String? { instant(name).map(moment.tellPoint) }
}
