/// Draws databases that are replicated with CouchDB servers.
struct ServerTable {
    let servers: [StatusReport.Server]
    let moment: Moment
    let style: TerminalStyle

    init(_ servers: [StatusReport.Server], _ moment: Moment, _ style: TerminalStyle) {
        self.servers = servers
        self.moment = moment
        self.style = style
    }

    /// Nothing when there is none.
    var lines: [String] {
        guard !servers.isEmpty else { return [] }
        var table = TextTable(style)
        table.add(
            ["SERVER", "DATABASE", "STATE", "TO SEND", "TO RECEIVE", "LAST IN SYNC"].map { TextTable.Cell($0, .dim) })
        for server in servers {
            let isRunning = !DisplayText.same(server.state, "notRunning")
            table.add([
                TextTable.Cell(DisplayText.safe(server.url)), TextTable.Cell(DisplayText.safe(server.database)),
                Self.state(server.state), TextTable.Cell(isRunning ? Self.amount(server.toSend) : ""),
                TextTable.Cell(isRunning ? Self.amount(server.toReceive) : ""),
                TextTable.Cell(server.lastInSyncAt.map(moment.tell) ?? (isRunning ? "never" : "")),
            ])
        }
        var lines = table.lines
        for server in servers {
            guard let error = server.lastError else { continue }
            let when = server.lastErrorAt.map { " (\(moment.tell($0)))" } ?? ""
            lines += DisplayText.wrapped(DisplayText.safe(error) + when, width: style.columns - 4).map { "    " + $0 }
        }
        return lines
    }

    private static func state(_ state: String) -> TextTable.Cell {
        switch state {
        case "inSync": TextTable.Cell("in sync", .green)
        case "syncing": TextTable.Cell("syncing", .green)
        case "connecting": TextTable.Cell("connecting")
        case "waiting": TextTable.Cell("waiting", .yellow)
        case "notRunning": TextTable.Cell("not running", .dim)
        default: TextTable.Cell("unknown")
        }
    }

    private static func amount(_ count: Int?) -> String {
        guard let count else { return "unknown" }
        return count == 0 ? "nothing" : Quantity.of(count, "document")
    }
}
