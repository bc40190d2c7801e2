/// Draws the status: a pure function of the report, the moment, what the terminal can do, and what was asked for.
struct StatusScreen {
    let report: StatusReport
    let moment: Moment
    let style: TerminalStyle
    var selection = StatusSelection.everything
    var rates = StatusRates()

    /// The whole screen.
    var lines: [String] {
        var blocks: [[String]] = [heading]
        if selection.showsProblems { blocks += problems }
        if selection.showsDatabases { blocks.append(databases) }
        if selection.showsPeers {
            blocks += [peers, peerNotes { _ in true }, ServerTable(report.servers, moment, style).lines]
        }
        if selection.showsOthers { blocks += [conflicts, nearby, discovery] }
        if selection.showsPeers { blocks.append(alone) }
        return blocks.filter { !$0.isEmpty }.joined(separator: [""]).map { $0 }
    }

    /// What `--problems` and `--check` show: nothing when there is none.
    var problemLines: [String] {
        let blocks = problems + [conflicts, blocked, discovery]
        return blocks.filter { !$0.isEmpty }.joined(separator: [""]).map { $0 }
    }

    private var blocked: [String] {
        report.peers.contains { $0.state == .blocked } ? peerNotes { $0.state == .blocked } : []
    }

    // MARK: The first line

    private var heading: [String] {
        let name = DisplayText.cut(DisplayText.safe(report.name), to: 32, unicode: style.usesUnicode)
        let mark =
            report.isStopped
            ? StatusMarks.bad(style) : report.needsAttention ? StatusMarks.attention(style) : StatusMarks.good(style)
        let paintedName = Paint.bold.apply(name, style)
        let plainLength = 2 + DisplayText.width(name) + 2 + report.id.utf8.count + 3
        let start = "\(mark) \(paintedName)  \(report.id)   "
        var lines: [String] = []
        let room = max(20, style.columns - plainLength)
        let sentence = self.sentence
        // The sentence goes on below itself when the line is too narrow for it.
        let parts = DisplayText.width(sentence) <= room ? [sentence] : DisplayText.wrapped(sentence, width: room)
        for (index, part) in parts.enumerated() {
            lines.append(index == 0 ? start + part : String(repeating: " ", count: plainLength) + part)
        }
        if selection.isVerbose {
            if let fullID = report.fullID { lines.append("  ID         \(fullID)") }
            lines.append("  Version    \(report.version)")
            if !report.listening.isEmpty { lines.append("  Listening  " + report.listening.joined(separator: ", ")) }
        }
        return lines
    }

    /// The sentence that answers "is it all right?".
    var sentence: String {
        if report.state != "running" { return report.state }
        if report.isStopped { return "running, but something is stopped by an error" + addition }
        let count = report.peers.count
        guard count > 0 else {
            var text = "running"
            if let startedAt = report.startedAt { text += " " + moment.lasted(since: startedAt) }
            let addition = self.addition
            if addition.isEmpty, let address = report.listening.first { text += "   " + address }
            return text + addition
        }
        let syncing = report.peers.count { $0.state == .syncing }
        let inSync = report.peers.count { $0.state == .inSync }
        let connecting = report.peers.count { $0.state == .connecting }
        var text: String
        if syncing > 0 {
            text = "syncing with \(Self.part(syncing, of: count))"
            if let left = rates.secondsLeft(report) { text += ", about \(Self.approximate(left)) left" }
        } else if inSync > 0 {
            text = "in sync with \(Self.part(inSync, of: count))"
        } else if connecting > 0 {
            text = "connecting to \(Self.part(connecting, of: count))"
        } else if report.peers.allSatisfy({ $0.state == .onDemand || $0.state == .notShared }) {
            text = "replicating on demand only"
        } else {
            text = count == 1 ? "its peer is not connected" : "none of its \(count) peers is connected"
        }
        return text + addition
    }

    private var addition: String {
        var text = ""
        if report.conflictCount > 0 {
            text += "; " + Quantity.of(report.conflictCount, "document") + " in conflict"
        }
        let waiting = report.nearby.count { $0.askedAt != nil }
        if waiting > 0 { text += "; " + Quantity.of(waiting, "device is", "devices are") + " waiting for you" }
        return text
    }

    private static func part(_ number: Int, of count: Int) -> String {
        number == count ? Quantity.of(count, "peer") : "\(number) of \(count) peers"
    }

    private static func approximate(_ seconds: Int) -> String {
        seconds < 90
            ? "\(seconds) s" : seconds < 5_400 ? "\((seconds + 30) / 60) min" : "\((seconds + 1_800) / 3_600) h"
    }

    // MARK: Sections

    private var databases: [String] {
        if report.databases.isEmpty {
            return ["  There is no database yet."] + [command("Make one", "kith db create NAME")]
        }
        var table = TextTable(style, rightAligned: [1, 2])
        for database in report.databases {
            table.add([
                TextTable.Cell(DisplayText.safe(database.name)),
                TextTable.Cell(Quantity.of(database.documents, "document")),
                TextTable.Cell(Quantity.bytes(database.bytes)),
            ])
        }
        return table.lines
    }

    private var peers: [String] {
        guard !report.peers.isEmpty else { return [] }
        let allSyncing = report.peers.allSatisfy { $0.state == .syncing }
        var table = TextTable(style)
        table.add(
            ["PEER", "STATE", "TO SEND", "TO RECEIVE", allSyncing ? "PROGRESS" : "LAST IN SYNC"].map {
                TextTable.Cell($0, .dim)
            })
        for peer in report.peers {
            var row = [
                TextTable.Cell(DisplayText.safe(peer.name)), Self.state(peer.state),
                TextTable.Cell(amount(peer.toSend, other: peer.toReceive, peer)),
                TextTable.Cell(amount(peer.toReceive, other: peer.toSend, peer)), TextTable.Cell(last(peer)),
            ]
            if let problem = peer.problem, Self.isCode(problem) {
                row.append(TextTable.Cell(DisplayText.safe(problem), .yellow))
            }
            table.add(row)
        }
        var lines = table.lines
        if selection.isVerbose { lines += peerDetails }
        return lines
    }

    private var peerDetails: [String] {
        var lines: [String] = []
        for peer in report.peers {
            lines.append("")
            lines.append("  \(DisplayText.safe(peer.name))")
            lines += PeerPage(peer: peer, moment: moment, style: style).details
        }
        return lines
    }

    static func state(_ state: StatusReport.PeerState) -> TextTable.Cell {
        switch state {
        case .inSync: TextTable.Cell("in sync", .green)
        case .syncing: TextTable.Cell("syncing", .green)
        case .connecting: TextTable.Cell("connecting")
        case .offline: TextTable.Cell("offline", .dim)
        case .blocked: TextTable.Cell("blocked", .red)
        case .onDemand: TextTable.Cell("on demand")
        case .notShared: TextTable.Cell("not shared", .dim)
        case .unknown: TextTable.Cell("unknown")
        }
    }

    /// What remains; out of how much, where the round goes in one direction only.
    private func amount(_ count: Int?, other: Int?, _ peer: StatusReport.Peer) -> String {
        guard let count else { return "unknown" }
        if count == 0 { return "nothing" }
        if peer.state == .syncing, other == 0, peer.total > count {
            return Quantity.grouped(count) + " of " + Quantity.grouped(peer.total)
        }
        return Quantity.of(count, "document")
    }

    private func last(_ peer: StatusReport.Peer) -> String {
        if peer.state == .syncing, peer.total > 0 {
            let bar = StatusMarks.bar(completed: peer.completed, total: peer.total, style)
            // Rounded down: it is 100 % only at the end.
            guard let rate = rates.rate(of: peer) else {
                return bar + "  \(min(100, max(0, peer.completed) * 100 / peer.total)) %"
            }
            return bar + "  " + Quantity.of(rate, "doc") + "/s"
        }
        return peer.lastInSyncAt.map(moment.tell) ?? "never"
    }

    /// What an absent or blocked peer means, and what to type.
    private func peerNotes(_ isIncluded: (StatusReport.Peer) -> Bool) -> [String] {
        var lines: [String] = []
        for peer in report.peers where isIncluded(peer) {
            let name = DisplayText.safe(peer.name)
            switch peer.state {
            case .offline:
                let since = peer.since.map { " since " + moment.tellPoint($0) } ?? ""
                lines += DisplayText.wrapped(
                    "\(name) is offline\(since). Its changes come when it returns.", width: style.columns - 2
                ).map { "  " + $0 }
            case .blocked where peer.problem.map { $0.utf8.elementsEqual("not_trusted".utf8) } ?? false:
                lines.append("  \(name) does not trust this node yet.")
                lines.append(command("Type there", "kith trust " + (report.fullID ?? "ID-OF-THIS-NODE")))
            case .blocked:
                lines.append("  Nothing is exchanged with \(name).")
            default: break
            }
            if peer.state != .inSync { lines += reasons(peer) }
            for note in SharingNotes.of(peer) {
                lines += DisplayText.wrapped(note, width: style.columns - 2).map { "  " + $0 }
            }
        }
        return lines
    }

    /// Why the peer is not in sync, each reason once.
    private func reasons(_ peer: StatusReport.Peer) -> [String] {
        var known: Set<[UInt8]> = []
        var lines: [String] = []
        for database in peer.databases {
            guard let error = database.lastError, known.insert(Array(error.utf8)).inserted else { continue }
            let isOfAll = peer.databases.allSatisfy { $0.lastError.map { DisplayText.same($0, error) } ?? false }
            let subject = isOfAll ? "" : DisplayText.safe(database.name) + ": "
            let when = database.lastErrorAt.map { " (\(moment.tell($0)))" } ?? ""
            lines += DisplayText.wrapped(subject + DisplayText.safe(error) + when, width: style.columns - 4)
        }
        if let problem = peer.problem, !problem.isEmpty, !Self.isCode(problem), !known.contains(Array(problem.utf8)) {
            lines += DisplayText.wrapped(DisplayText.safe(problem), width: style.columns - 4)
        }
        return lines.map { "    " + $0 }
    }

    /// Whether a problem is a word such as `key-changed`, which has room in the row, and not a sentence.
    private static func isCode(_ problem: String) -> Bool {
        !problem.isEmpty && problem.utf8.count <= 20 && !problem.utf8.contains(UInt8(ascii: " "))
    }

    private var conflicts: [String] {
        guard let first = report.conflicts.first else { return [] }
        var table = TextTable(style)
        table.add([TextTable.Cell("CONFLICT", .dim), TextTable.Cell("VERSIONS", .dim)])
        for conflict in report.conflicts {
            table.add([
                TextTable.Cell(DisplayText.safe(conflict.database + "/" + conflict.id)),
                TextTable.Cell("\(conflict.versions)"),
            ])
        }
        var lines = table.lines
        let more = report.conflictCount - report.conflicts.count
        if more > 0 { lines.append("  and \(Quantity.grouped(more)) more: kith conflicts") }
        lines += ["", "  Every device shows the same version meanwhile; no version is lost."]
        let name =
            first.database.utf8.contains(UInt8(ascii: "/"))
            ? ShellQuoting.quote(first.database) + " " + ShellQuoting.quote(first.id)
            : ShellQuoting.quote(first.database + "/" + first.id)
        lines.append(command("See both sides", "kith conflicts show " + name))
        return lines
    }

    /// Who is nearby and not paired, who asks to pair, and what to type; nothing when there is nobody.
    var nearby: [String] {
        guard !report.nearby.isEmpty else { return [] }
        var table = TextTable(style)
        table.add(["NEARBY", "ID", "ADDRESS"].map { TextTable.Cell($0, .dim) })
        for node in report.nearby {
            let asked = node.askedAt.map { "asks to pair (\(moment.tell($0)))" } ?? "not paired"
            table.add([node.name, node.id, node.address, asked].map { TextTable.Cell(DisplayText.safe($0)) })
        }
        var lines = table.lines + ["", "  Nothing is shared with a device before each side trusts the other."]
        if let asking = report.nearby.first(where: { $0.askedAt != nil }) {
            lines.append(command("Accept its request", "kith pair accept " + ShellQuoting.quote(asking.name)))
        }
        if let silent = report.nearby.first(where: { $0.askedAt == nil }) {
            lines.append(command("Ask it to pair", "kith pair " + ShellQuoting.quote(silent.name)))
        }
        return lines
    }

    private var discovery: [String] {
        guard !report.discovery.isOn else { return [] }
        let reason = report.discovery.reason.map { ": " + DisplayText.safe($0) } ?? ""
        var lines = DisplayText.wrapped("Discovery off\(reason).", width: style.columns - 2).map { "  " + $0 }
        if let remedy = report.discovery.remedy {
            lines += DisplayText.wrapped(DisplayText.safe(remedy), width: style.columns - 4).map { "    " + $0 }
        }
        return lines
    }

    private var alone: [String] {
        guard report.peers.isEmpty else { return [] }
        guard report.nearby.isEmpty else { return [] }
        let looked =
            report.discovery.interfaces.isEmpty
            ? "" : " (looked on \(report.discovery.interfaces.map(DisplayText.safe).joined(separator: ", ")))"
        let text =
            report.discovery.isOn ? "No peers yet, and none found on this network\(looked)." : "No peers yet."
        return DisplayText.wrapped(text, width: style.columns - 2).map { "  " + $0 } + [
            command("Who is nearby", "kith pair"), command("Pair by address", "kith pair HOST:PORT"),
        ]
    }

    /// Problems that no other section tells.
    private var problems: [[String]] {
        var lines: [String] = []
        for problem in report.problems where !["conflicts", "discovery-off"].contains(problem.code) {
            let mark = problem.severity == .error ? StatusMarks.bad(style) : StatusMarks.attention(style)
            let code = DisplayText.padded(DisplayText.safe(problem.code), to: 13)
            let subject = problem.subject.isEmpty ? "" : DisplayText.safe(problem.subject) + ": "
            let text = DisplayText.wrapped(
                subject + DisplayText.safe(problem.text), width: max(20, style.columns - DisplayText.width(code) - 3))
            for (index, line) in text.enumerated() {
                lines.append(
                    index == 0
                        ? "\(mark) \(code) \(line)" : String(repeating: " ", count: DisplayText.width(code) + 3) + line)
            }
            if let command = problem.command, !command.isEmpty {
                lines.append(String(repeating: " ", count: 5) + DisplayText.safe(command))
            }
        }
        return lines.isEmpty ? [] : [lines]
    }

    /// What can be done, and the command for it, which is never cut: it is there to be copied.
    private func command(_ what: String, _ line: String) -> String { "    " + DisplayText.padded(what, to: 24) + line }
}
