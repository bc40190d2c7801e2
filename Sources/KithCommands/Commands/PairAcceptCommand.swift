import KithDocuments

/// `kith pair accept`
enum PairAcceptCommand: Command {
    static let spec = CommandSpec(
        "pair accept", summary: "accept a machine that asks to pair",
        positionals: [
            PositionalSpec("NAME|ID", isOptional: true, help: "who asks; needed only when several do")
        ],
        options: [
            OptionSpec("json", help: "one JSON object a line; answers are read from the standard input"),
            OptionSpec(
                "timeout", value: .required("TIME"), help: "wait so long for one that asks (else 60s), exit code 5"),
        ],
        details: [
            "Waits for a machine that asks, if none does yet. Then both screens show a number; see kith help pair.",
            "Names are what the other machine calls itself and prove nothing; the number does.",
        ],
        examples: [CommandExample("kith pair accept tablet", "accepts tablet, and compares the number with it")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let wanted = arguments.positional(0)
        let timeout = context.timeoutMilliseconds ?? CommandLimits.waitMilliseconds
        let deadline = MonotonicClock.milliseconds + timeout
        if !arguments.has("json"), try request(of: wanted, context) == nil {
            context.console.note("Waiting for \(wanted.map(DisplayText.safe) ?? "a machine") to ask…")
        }
        guard let found = try waitFor(wanted, context, deadline) else {
            context.console.note(
                "kith: waited \(Quantity.seconds(milliseconds: timeout)) in vain: \(wanted.map(DisplayText.safe) ?? "nobody") \(wanted == nil ? "asks" : "does not ask") to pair"
            )
            return ExitStatus.waitedTooLong
        }
        if !arguments.has("json") {
            context.console.note("\(found.shownName) (\(DisplayText.safe(found.address))) wants to pair.")
        }
        let path = ["_kith", "pairings", String(found.number)]
        _ = try client(context).json(NodeRequest("POST", path, body: Array(#"{"accept":true}"#.utf8)))
        return try PairingDialogue(context, isJSON: arguments.has("json")).run(found.number)
    }

    private static func client(_ context: CommandContext) -> NodeClient {
        NodeClient(
            socketPath: context.socketPath, timeoutMilliseconds: CommandLimits.answerMilliseconds,
            noNodeHint: context.noNodeHint)
    }

    /// Follows the status until somebody asks that is meant; nil when the time is over.
    private static func waitFor(
        _ wanted: String?, _ context: CommandContext, _ deadline: Int
    ) throws -> PairingReport? {
        if let found = try request(of: wanted, context) { return found }
        let remaining = max(1, deadline - MonotonicClock.milliseconds)
        var found: PairingReport?
        var splitter = LineSplitter(lineBytesMax: CommandLimits.documentBytesMax)
        try client(context).stream(
            NodeRequest("GET", ["_kith", "status"], query: [("feed", "continuous")]), silenceMilliseconds: remaining,
            tickMilliseconds: CommandLimits.answerLookMilliseconds
        ) {
            MonotonicClock.milliseconds < deadline ? .more : .enough
        } onBody: { piece in
            try splitter.receive(piece) { (line) throws in
                if line.isEmpty || found != nil { return }
                found = try request(of: wanted, context)
            }
            return found != nil || MonotonicClock.milliseconds >= deadline ? .enough : .more
        }
        return found
    }

    /// The machine that asks and is meant; nil when there is none.
    ///
    /// - Throws: `.badName` when several do.
    private static func request(of wanted: String?, _ context: CommandContext) throws -> PairingReport? {
        let answer = try client(context).json(NodeRequest("GET", ["_kith", "pairings"]))
        let asking = try (answer["pairings"]?.arrayValue ?? []).map { try PairingReport($0) }
            .filter { $0.role == "responder" && $0.state == "waiting" }
        // An ID says more than a name, which everybody can give himself.
        var meant = asking
        if let wanted {
            meant = asking.filter { $0.hasID(wanted) }
            if meant.isEmpty {
                meant = asking.filter { $0.name.map { DisplayText.same($0, wanted) } ?? false }
            }
        }
        guard meant.count < 2 else {
            let list = meant.map { "\($0.shownName) \($0.short)" }.joined(separator: ", ")
            throw KithError(
                .badName, "several machines ask to pair: \(list)", remedy: "Give the ID of the one that is meant")
        }
        return meant.first
    }
}
