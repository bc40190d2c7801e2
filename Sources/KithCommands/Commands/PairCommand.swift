import KithDocuments

/// `kith pair`
enum PairCommand: Command {
    static let spec = CommandSpec(
        "pair", summary: "pair with another machine by comparing a number",
        positionals: [
            PositionalSpec("NAME|ADDRESS", isOptional: true, help: "whom to ask: a node nearby, or HOST:PORT")
        ],
        options: [OptionSpec("json", help: "one JSON object a line; answers are read from the standard input")],
        details: [
            "Without a name it lists who is nearby, who asks to pair, and the pairings under way and those that ended in the last ten minutes, with why.",
            "The other machine is asked; there, somebody types kith pair accept. Then both screens show the same six digits and the same three words, and both people say so. Only then the two nodes trust each other. When the screens differ, somebody is between the two machines: answer No.",
        ],
        examples: [
            CommandExample("kith pair", "lists who is nearby"),
            CommandExample("kith pair kitchen-pi", "asks kitchen-pi; there: kith pair accept"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        guard let name = arguments.positional(0) else { return try list(context, isJSON: arguments.has("json")) }
        guard !name.isEmpty else { throw KithError(.badName, "the name of the machine is empty") }
        let body = (["with": .string(name)] as JSONValue).canonicalBytes()
        let pairing = try PairingReport(
            try context.node.json(NodeRequest("POST", ["_kith", "pairings"], body: body)))
        return try PairingDialogue(context, isJSON: arguments.has("json")).run(pairing.number)
    }

    private static func list(_ context: CommandContext, isJSON: Bool) throws -> Int32 {
        let value = try context.node.json(NodeRequest("GET", ["_kith", "status"]))
        let pairings = try context.node.json(NodeRequest("GET", ["_kith", "pairings"]))["pairings"] ?? .array([])
        let console = context.console
        if isJSON {
            try console.print(
                (["nearby": value["nearby"] ?? .array([]), "pairings": pairings] as JSONValue).canonicalText())
            return ExitStatus.success
        }
        let list = PairingList(
            reports: try (pairings.arrayValue ?? []).map { try PairingReport($0) }, moment: .current,
            style: console.style)
        for line in list.lines { try console.print(line) }
        if !list.lines.isEmpty { try console.print("") }
        let report = try StatusReport(value)
        guard !report.nearby.isEmpty else {
            try console.print("No other node is seen nearby that is not paired.")
            try console.print("  By its address, as kith status there shows it:  kith pair HOST:PORT")
            return ExitStatus.success
        }
        let screen = StatusScreen(report: report, moment: .current, style: console.style)
        for line in screen.nearby { try console.print(line) }
        return ExitStatus.success
    }
}
