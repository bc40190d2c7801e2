import KithDocuments

/// The pairings under way and those that have just ended in vain, for `kith pair`: also those that nobody follows at a terminal.
struct PairingList {
    let reports: [PairingReport]
    let moment: Moment
    let style: TerminalStyle

    /// How long one that has ended is shown.
    static let endedSeconds: Int64 = 600

    /// Nothing when there is none.
    var lines: [String] {
        let shown = reports.filter { report in
            // Who asks is listed among those nearby, and who is paired among the peers.
            if report.state == "paired" || (report.role == "responder" && report.state == "waiting") { return false }
            guard report.isOver else { return true }
            guard let ended = report.ended else { return false }
            return moment.now.seconds - ended.seconds < Self.endedSeconds
        }
        guard !shown.isEmpty else { return [] }
        var table = TextTable(style)
        table.add(["PAIRING", "ID", "SINCE"].map { TextTable.Cell($0, .dim) })
        for report in shown {
            let time = (report.ended ?? report.began).map(moment.tell) ?? ""
            table.add(
                [report.shownName, DisplayText.safe(report.short), time, text(report)].map { TextTable.Cell($0) })
        }
        return table.lines
    }

    private func text(_ report: PairingReport) -> String {
        switch report.state {
        case "connecting": "is being reached"
        case "waiting": "was asked; there, somebody has to type kith pair accept"
        case "exchanging", "comparing": "waits for both people to compare the number"
        case "waiting_for_peer": "waits for the answer there"
        case "failed": "ended: \(DisplayText.safe(report.failure.message))"
        default: "is being written down"
        }
    }
}
