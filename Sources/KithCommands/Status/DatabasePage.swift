/// Draws one database, with each peer that replicates it.
struct DatabasePage {
    let database: StatusReport.Database
    let report: StatusReport
    let moment: Moment
    let style: TerminalStyle

    var lines: [String] {
        let shared = report.peers.flatMap { peer in
            peer.databases.filter { DisplayText.same($0.name, database.name) }.map { (peer: peer, database: $0) }
        }
        let servers = report.servers.filter { DisplayText.same($0.database, database.name) }
        let refused =
            shared.reduce(0) { $0 + $1.database.refused } + servers.reduce(0) { $0 + $1.refused }
        let mark = database.conflicts + refused > 0 ? StatusMarks.attention(style) : StatusMarks.good(style)
        let name = Paint.bold.apply(DisplayText.safe(database.name), style)
        var lines = [
            "\(mark) \(name)   \(Quantity.of(database.documents, "document")), \(Quantity.bytes(database.bytes))"
                + (database.conflicts > 0 ? ", \(Quantity.grouped(database.conflicts)) in conflict" : "")
                + (refused > 0 ? ", \(Quantity.grouped(refused)) refused" : "")
        ]
        lines.append("  Last sequence  \(database.sequence)")
        var peers = TextTable(style)
        peers.add(["PEER", "STATE", "TO SEND", "TO RECEIVE", "LAST IN SYNC"].map { TextTable.Cell($0, .dim) })
        for (peer, shared) in shared {
            peers.add([
                TextTable.Cell(DisplayText.safe(peer.name)), StatusScreen.state(shared.state),
                TextTable.Cell(Self.amount(shared.toSend)), TextTable.Cell(Self.amount(shared.toReceive)),
                TextTable.Cell(shared.lastInSyncAt.map(moment.tell) ?? "never"),
            ])
        }
        if !shared.isEmpty { lines += [""] + peers.lines }
        for (peer, shared) in shared where shared.refused > 0 {
            lines += refusals(shared.refusals, of: shared.refused, with: peer.name)
        }
        let table = ServerTable(servers, moment, style).lines
        if !table.isEmpty { lines += [""] + table }
        for server in servers where server.refused > 0 {
            lines += refusals(server.refusals, of: server.refused, with: server.url)
        }
        if database.conflicts > 0 {
            lines += ["", "    See the conflicts       kith conflicts " + ShellQuoting.quote(database.name)]
        }
        return lines
    }

    /// What was refused between this node and a peer, the last of it with the reasons.
    private func refusals(_ refusals: [StatusReport.Refusal], of count: Int, with peer: String) -> [String] {
        let peerName = DisplayText.safe(peer)
        var lines = ["", "  Refused between this node and \(peerName): \(Quantity.of(count, "document"))"]
        let shown = refusals.prefix(Self.refusalsShown)
        for refusal in shown {
            let when = refusal.at.map { " " + moment.tell($0) } ?? ""
            lines += DisplayText.wrapped(
                "\(refusal.collection.map { DisplayText.safe($0) + ": " } ?? "")\(DisplayText.safe(refusal.id)) by \(refusal.isByPeer ? peerName : "this node")\(when) (\(refusal.code)): \(DisplayText.safe(refusal.reason))",
                width: style.columns - 4
            ).map { "    " + $0 }
        }
        if shown.count < count {
            lines.append("    … and \(Quantity.grouped(count - shown.count)) more")
        }
        if let first = shown.first(where: { $0.collection == nil }) {
            lines.append(
                "    Why, on every peer      kith explain "
                    + ShellQuoting.quote(database.name + "/" + first.id))
        }
        return lines
    }

    /// How many are shown with their reasons; `--json` has more.
    private static let refusalsShown = 5

    private static func amount(_ count: Int?) -> String {
        guard let count else { return "unknown" }
        return count == 0 ? "nothing" : Quantity.of(count, "document")
    }
}
