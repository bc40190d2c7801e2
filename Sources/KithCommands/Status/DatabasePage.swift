/// Draws one database, with each peer that replicates it.
struct DatabasePage {
    let database: StatusReport.Database
    let report: StatusReport
    let moment: Moment
    let style: TerminalStyle

    var lines: [String] {
        let mark = database.conflicts > 0 ? StatusMarks.attention(style) : StatusMarks.good(style)
        let name = Paint.bold.apply(DisplayText.safe(database.name), style)
        var lines = [
            "\(mark) \(name)   \(Quantity.of(database.documents, "document")), \(Quantity.bytes(database.bytes))"
                + (database.conflicts > 0 ? ", \(Quantity.grouped(database.conflicts)) in conflict" : "")
        ]
        lines.append("  Last sequence  \(database.sequence)")
        var table = TextTable(style)
        table.add(["PEER", "STATE", "TO SEND", "TO RECEIVE", "LAST IN SYNC"].map { TextTable.Cell($0, .dim) })
        var hasRows = false
        for peer in report.peers {
            guard let shared = peer.databases.first(where: { DisplayText.same($0.name, database.name) }) else {
                continue
            }
            hasRows = true
            table.add([
                TextTable.Cell(DisplayText.safe(peer.name)), StatusScreen.state(shared.state),
                TextTable.Cell(Self.amount(shared.toSend)), TextTable.Cell(Self.amount(shared.toReceive)),
                TextTable.Cell(shared.lastInSyncAt.map(moment.tell) ?? "never"),
            ])
        }
        if hasRows { lines += [""] + table.lines }
        if database.conflicts > 0 {
            lines += ["", "    See the conflicts       kith conflicts " + ShellQuoting.quote(database.name)]
        }
        return lines
    }

    private static func amount(_ count: Int?) -> String {
        guard let count else { return "unknown" }
        return count == 0 ? "nothing" : Quantity.of(count, "document")
    }
}
