import Glibc
import KithDocuments

/// `kith wait`
enum WaitCommand: Command {
    static let spec = CommandSpec(
        "wait", summary: "wait until something is so",
        options: [
            OptionSpec(
                "synced-with", value: .required("PEER"), isRepeatable: true,
                help: "until nothing is left to send to and to receive from this peer"),
            OptionSpec("idle", help: "until nothing is under way with any connected peer"),
            OptionSpec("up", help: "until the node runs"),
            OptionSpec(
                "timeout", value: .required("TIME"), help: "give up after this time (else 60s), with exit code 5"),
        ],
        details: ["Several conditions are waited for together."],
        examples: [
            CommandExample("kith wait --up --timeout 10s", "waits until the node answers"),
            CommandExample("kith wait --synced-with laptop", "waits until this node and laptop have the same"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let peers = arguments.values("synced-with")
        let isIdle = arguments.has("idle")
        guard arguments.has("up") || isIdle || !peers.isEmpty else {
            throw UsageError(
                "nothing to wait for: kith wait --synced-with PEER | --idle | --up", hint: "See: kith help wait")
        }
        let timeout = context.timeoutMilliseconds ?? CommandLimits.waitMilliseconds
        let deadline = MonotonicClock.milliseconds + timeout
        var missing: String?
        while true {
            do {
                let isDone = try watch(context, deadline) { report in
                    missing = try Self.missing(report, peers: peers, isIdle: isIdle)
                    return missing == nil
                }
                if isDone {
                    return ExitStatus.success
                }
            } catch let error as KithError {
                let isAbsent = [.noNode, .nodeUnreachable, .connectionLost].contains(error.code)
                guard isAbsent, arguments.has("up") else { throw error }
                missing = error.message
            }
            guard MonotonicClock.milliseconds < deadline else { break }
            _ = poll(nil, 0, Int32(CommandLimits.reconnectMilliseconds))
        }
        context.console.note(
            "kith: waited \(Quantity.seconds(milliseconds: timeout)) in vain: \(missing ?? "the node did not answer")")
        return ExitStatus.waitedTooLong
    }

    /// Follows the status until nothing is missing (true) or the time is over (false).
    private static func watch(
        _ context: CommandContext, _ deadline: Int, _ isReached: (StatusReport) throws -> Bool
    ) throws -> Bool {
        let remaining = max(1, deadline - MonotonicClock.milliseconds)
        let client = NodeClient(
            socketPath: context.socketPath, timeoutMilliseconds: remaining, noNodeHint: context.noNodeHint)
        var isDone = false
        var splitter = LineSplitter(lineBytesMax: CommandLimits.documentBytesMax)
        let request = NodeRequest("GET", ["_kith", "status"], query: [("feed", "continuous")])
        try client.stream(request, silenceMilliseconds: remaining, tickMilliseconds: 100) {
            MonotonicClock.milliseconds < deadline ? .more : .enough
        } onBody: { piece in
            try splitter.receive(piece) { (line) throws in
                if line.isEmpty || isDone { return }
                isDone = try isReached(try StatusReport(try NodeClient.parse(line)))
            }
            return isDone || MonotonicClock.milliseconds >= deadline ? .enough : .more
        }
        if !isDone, MonotonicClock.milliseconds < deadline { throw ConnectionFailure.ended() }
        return isDone
    }

    /// What is still to be waited for; `nil` when all is as it was asked for.
    static func missing(_ report: StatusReport, peers: [String], isIdle: Bool) throws -> String? {
        if report.state != "running" { return "the node is \(report.state)" }
        for name in peers {
            guard let peer = report.peer(named: name) else {
                throw KithError(
                    .notFound, "there is no peer \(DisplayText.safe(name))",
                    remedy: "See the peers: kith status --peers")
            }
            if peer.state != .inSync || peer.toSend != 0 || peer.toReceive != 0 { return describe(peer) }
        }
        guard isIdle else { return nil }
        for peer in report.peers {
            let isBusy = peer.state == .syncing || peer.state == .connecting
            let hasMore = peer.state == .inSync && (peer.toSend ?? 0 > 0 || peer.toReceive ?? 0 > 0)
            if isBusy || hasMore { return describe(peer) }
        }
        return nil
    }

    private static func describe(_ peer: StatusReport.Peer) -> String {
        var text = "\(DisplayText.safe(peer.name)) is \(StatusScreen.state(peer.state).text)"
        if let count = peer.toSend, count > 0 { text += ", \(Quantity.of(count, "document")) to send" }
        if let count = peer.toReceive, count > 0 { text += ", \(Quantity.of(count, "document")) to receive" }
        return text
    }
}
