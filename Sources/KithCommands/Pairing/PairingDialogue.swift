import Glibc
import KithDocuments

/// Follows a pairing to its end: shows the number, asks the person, and gives the answer to the node.
///
/// Whoever runs it and goes away (Ctrl-C, a closed terminal) gives the pairing up: the node notices it.
final class PairingDialogue {
    private let context: CommandContext
    private let isJSON: Bool
    private var lines = InputLines()
    private var isAsking = false
    private var lastState = ""
    private var last: PairingReport?

    init(_ context: CommandContext, isJSON: Bool) {
        self.context = context
        self.isJSON = isJSON
    }

    /// - Returns: the exit code.
    /// - Throws: why nothing was paired.
    func run(_ number: Int) throws -> Int32 {
        Interruption.begin()
        let path = ["_kith", "pairings", String(number)]
        let feed = NodeRequest("GET", path, query: [("feed", "continuous")])
        var splitter = LineSplitter(lineBytesMax: CommandLimits.answerBytesMax)
        let client = NodeClient(
            socketPath: context.socketPath, timeoutMilliseconds: CommandLimits.answerMilliseconds,
            noNodeHint: context.noNodeHint)
        try client.stream(
            feed, silenceMilliseconds: CommandLimits.pairingMilliseconds,
            tickMilliseconds: CommandLimits.answerLookMilliseconds
        ) {
            try lookForAnswer(path)
            return .more
        } onBody: { piece in
            try splitter.receive(piece) { (line) throws in
                if !line.isEmpty { try show(try NodeClient.parse(line)) }
            }
            try lookForAnswer(path)
            return .more
        }
        let signal = Interruption.take()
        if signal != 0 {
            try giveUp(path)
            guard last?.peer != nil else { return 128 + signal }
        }
        guard let last, last.isOver else { throw ConnectionFailure.ended() }
        guard last.state == "paired" else { throw last.failure }
        return ExitStatus.success
    }

    /// Ends the pairing, and says what the node says of it: it may have come to a pair a moment before.
    private func giveUp(_ path: [String]) throws {
        let answer = try context.node.json(NodeRequest("DELETE", path))
        let report = try PairingReport(answer)
        guard report.peer == nil else { return try show(answer) }
        context.console.note("\nGiven up; nothing was paired.")
    }

    // MARK: What is shown

    private func show(_ value: JSONValue) throws {
        let report = try PairingReport(value)
        last = report
        if isJSON {
            try context.console.print(value.canonicalText())
            try context.console.flush()
        }
        guard report.state != lastState else { return }
        lastState = report.state
        if isAsking, report.state != "comparing" {
            isAsking = false
            if report.state == "failed", !isJSON { context.console.note("") }
        }
        if report.state == "comparing" {
            lines.discard()
            isAsking = true
        }
        guard !isJSON else { return }
        let console = context.console
        switch report.state {
        case "waiting" where report.role == "initiator":
            console.note("Asked \(DisplayText.safe(report.address)) (\(report.short)). There, somebody has to type:")
            console.note("    kith pair accept")
        case "comparing":
            warn(report)
            try console.print("")
            try console.print("  Do both screens show this?")
            try console.print("")
            try console.print("      \(report.digits)   \(report.words)")
            try console.print("")
            try console.flush()
            console.noteRaw("  Same on both? [y/N] ")
        case "waiting_for_peer":
            console.note("Waiting for \(report.shownName)…")
        case "paired":
            let name = DisplayText.safe(report.peer ?? report.shownName)
            try console.print("")
            try console.print("\(StatusMarks.good(console.style)) Paired with \(name)  \(report.short)")
            try console.print("  Databases of the same name are shared with it: kith status")
            if !report.isConfirmed {
                console.note("  The connection was lost before it said that it trusts this node as well.")
                console.note("  If kith status does not show it in sync soon, pair once more.")
            }
        default: break
        }
    }

    private func warn(_ report: PairingReport) {
        let console = context.console
        if let revocation = report.revocation {
            let who = PeerCard.revocation(revocation, .current)
            console.note(
                "\(StatusMarks.attention(console.style)) \(report.shownName) is revoked, \(who). Pairing it lets it in again, on this node."
            )
        }
        if let known = report.knownAs {
            console.note("\(DisplayText.safe(known)) is trusted here already; this lets it trust this node again.")
        } else if report.isNameTaken {
            console.note(
                "\(StatusMarks.attention(console.style)) You trust another machine that is called \(report.shownName). This one has another key."
            )
            console.note("  If it was set up anew, end here with Ctrl-C, and first type: kith untrust NAME")
        }
    }

    // MARK: What the person says

    private func lookForAnswer(_ path: [String]) throws {
        guard isAsking, let answer = lines.next() else { return }
        isAsking = false
        let request: NodeRequest
        switch answer {
        case .line(let text):
            let isSame = ["y", "yes"].contains(text.lowercased())
            request = NodeRequest("POST", path, body: (["same": .bool(isSame)] as JSONValue).canonicalBytes())
        case .end:
            // Nobody is there who has seen anything: that is no word on the numbers.
            request = NodeRequest("DELETE", path)
            if !isJSON { context.console.note("") }
        }
        do {
            _ = try context.node.json(request)
        } catch let error as KithError where error.code == .conflict || error.code == .notFound {
            // It has ended meanwhile, which the feed tells.
        }
    }
}
