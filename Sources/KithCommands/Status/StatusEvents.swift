/// What happened between two reports, one line each, for a watched status that is piped.
struct StatusEvents {
    private var previous: StatusReport?
    private var roundBeganMilliseconds: [String: Int] = [:]
    private var roundTotals: [String: Int] = [:]

    /// Takes a report and tells what is new in it.
    mutating func lines(for report: StatusReport, moment: Moment, milliseconds: Int) -> [String] {
        let clock = moment.calendar(moment.now).clockWithSeconds
        var lines: [String] = []
        func add(_ subject: String, _ what: String, _ detail: String) {
            let line =
                "\(clock)  \(DisplayText.padded(DisplayText.safe(subject), to: 12)) \(DisplayText.padded(what, to: 11)) "
                + DisplayText.safe(detail)
            lines.append(String(line.reversed().drop { $0 == " " }.reversed()))
        }
        if previous == nil { add(report.name, "running", report.id) }
        for peer in report.peers {
            let before = previous?.peers.first { $0.id == peer.id }
            if before == nil, previous != nil { add(peer.name, "trusted", peer.id) }
            let wasConnected = before.map { [.inSync, .syncing].contains($0.state) } ?? false
            let isConnected = [.inSync, .syncing].contains(peer.state)
            if isConnected, !wasConnected {
                add(
                    peer.name, "connected",
                    [peer.address, peer.tls.map { "TLS " + $0 }].compactMap { $0 }.joined(separator: "  "))
            }
            if peer.state == .syncing {
                if roundBeganMilliseconds[peer.id] == nil { roundBeganMilliseconds[peer.id] = milliseconds }
                roundTotals[peer.id] = max(roundTotals[peer.id] ?? 0, peer.total)
            }
            guard before?.state != peer.state else { continue }
            switch peer.state {
            case .syncing: add(peer.name, "syncing", Self.amounts(peer))
            case .inSync:
                var detail = ""
                if let began = roundBeganMilliseconds[peer.id], let total = roundTotals[peer.id], total > 0 {
                    detail =
                        Quantity.of(total, "document") + " in "
                        + Quantity.seconds(milliseconds: milliseconds - began)
                }
                add(peer.name, "in sync", detail)
            case .offline:
                add(
                    peer.name, "offline",
                    peer.toSend.map { $0 > 0 ? "\(Quantity.of($0, "document")) to send" : "" } ?? "")
            case .blocked: add(peer.name, "blocked", peer.problem ?? "")
            case .connecting: add(peer.name, "connecting", peer.address ?? "")
            case .onDemand: add(peer.name, "on demand", "")
            case .notShared: add(peer.name, "not shared", "")
            case .unknown: break
            }
            if peer.state != .syncing {
                roundBeganMilliseconds[peer.id] = nil
                roundTotals[peer.id] = nil
            }
        }
        for peer in previous?.peers ?? [] where !report.peers.contains(where: { $0.id == peer.id }) {
            add(peer.name, "untrusted", peer.id)
        }
        for conflict in report.conflicts where !(previous?.conflicts.contains(conflict) ?? false) {
            add(conflict.database, "conflict", "\(conflict.id) (\(conflict.versions) versions)")
        }
        for node in report.nearby where !(previous?.nearby.contains(where: { $0.id == node.id }) ?? false) {
            add(node.name, "nearby", "\(node.id)  \(node.address)  not paired")
        }
        for problem in report.problems
        where problem.code != "conflicts" && !(previous?.problems.contains(problem) ?? false) {
            add(problem.subject, problem.code, problem.text)
        }
        previous = report
        return lines
    }

    /// Says that the node does not answer any more.
    mutating func stopped(_ why: String, moment: Moment) -> String {
        previous = nil
        return
            "\(moment.calendar(moment.now).clockWithSeconds)  \(DisplayText.padded("node", to: 12)) stopped     \(why)"
    }

    private static func amounts(_ peer: StatusReport.Peer) -> String {
        var parts: [String] = []
        if let count = peer.toSend, count > 0 { parts.append("to send " + Quantity.grouped(count)) }
        if let count = peer.toReceive, count > 0 { parts.append("to receive " + Quantity.grouped(count)) }
        return parts.joined(separator: ", ")
    }
}
