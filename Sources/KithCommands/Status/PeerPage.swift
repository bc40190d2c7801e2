/// Draws one peer, with each database that is replicated with it.
struct PeerPage {
    let peer: StatusReport.Peer
    let moment: Moment
    let style: TerminalStyle

    /// The page of `kith status PEER`.
    var lines: [String] {
        let mark =
            switch peer.state {
            case .inSync, .syncing, .onDemand, .notShared: StatusMarks.good(style)
            case .blocked: StatusMarks.bad(style)
            default: StatusMarks.attention(style)
            }
        let name = Paint.bold.apply(DisplayText.safe(peer.name), style)
        let since = peer.since.map { " since " + moment.tellPoint($0) } ?? ""
        return ["\(mark) \(name)  \(peer.id)   \(StatusScreen.state(peer.state).text)\(since)"] + details
    }

    /// Everything below the name.
    var details: [String] {
        var lines: [String] = []
        if let fullID = peer.fullID { lines.append("  ID            \(DisplayText.safe(fullID))") }
        if let address = peer.address {
            let tls = peer.tls.map { "  TLS " + DisplayText.safe($0) } ?? ""
            lines.append("  Address       \(DisplayText.safe(address))\(tls)")
        }
        lines.append("  Last in sync  \(peer.lastInSyncAt.map(moment.tell) ?? "never")")
        if let problem = peer.problem { lines.append("  Problem       \(DisplayText.safe(problem))") }
        guard !peer.databases.isEmpty else { return lines }
        var table = TextTable(style)
        table.add(["DATABASE", "STATE", "TO SEND", "TO RECEIVE", "LAST IN SYNC"].map { TextTable.Cell($0, .dim) })
        for database in peer.databases {
            table.add([
                TextTable.Cell(DisplayText.safe(database.name)), StatusScreen.state(database.state),
                TextTable.Cell(database.sends ? Self.amount(database.toSend) : "off"),
                TextTable.Cell(database.receives ? Self.amount(database.toReceive) : "off"),
                TextTable.Cell(database.lastInSyncAt.map(moment.tell) ?? "never"),
            ])
        }
        lines += [""] + table.lines
        for note in SharingNotes.of(peer) {
            lines += DisplayText.wrapped(note, width: style.columns - 4).map { "    " + $0 }
        }
        for database in peer.databases {
            guard let error = database.lastError else { continue }
            let when = database.lastErrorAt.map { " (\(moment.tell($0)))" } ?? ""
            lines += DisplayText.wrapped(
                "\(DisplayText.safe(database.name)): \(DisplayText.safe(error))\(when)", width: style.columns - 4
            ).map { "    " + $0 }
        }
        return lines
    }

    private static func amount(_ count: Int?) -> String {
        guard let count else { return "unknown" }
        return count == 0 ? "nothing" : Quantity.of(count, "document")
    }
}
