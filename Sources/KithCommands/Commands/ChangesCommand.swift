import KithDocuments

/// `kith changes`
enum ChangesCommand: Command {
    static let spec = CommandSpec(
        "changes", summary: "list what changed in a database, or follow it",
        positionals: [PositionalSpec("DB", help: "the database")],
        options: [
            OptionSpec("since", value: .required("SEQ|now"), help: "only changes after this sequence"),
            OptionSpec("limit", value: .required("N"), help: "at most so many"),
            OptionSpec("follow", help: "go on and print each change as it comes"),
            OptionSpec("docs", help: "with the documents; implies --json"),
            OptionSpec("json", help: "one JSON object on each line"),
        ],
        details: [
            "Prints sequence, revision and ID of the last change of each document, oldest first. A sequence belongs to this node: another node gives others."
        ],
        examples: [
            CommandExample("kith changes notes", "prints the last change of each document"),
            CommandExample("kith changes notes --follow --since now", "prints each change from now on"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let since = arguments.value("since") ?? "0"
        guard since == "now" || NumberArgument.isDigits(since) else {
            throw UsageError("“\(DisplayText.safe(since))” is not a sequence", hint: "Type a number, or now")
        }
        let limit = try arguments.value("limit").map { try NumberArgument.count($0, "--limit") }
        var query: [(name: String, value: String)] = []
        if arguments.has("docs") { query.append(("include_docs", "true")) }
        let printer = Printer(
            console: context.console, asJSON: arguments.has("json") || arguments.has("docs"), limit: limit ?? Int.max,
            lastSequence: since)
        try Explanation.about(name) {
            if arguments.has("follow") {
                try follow(name, query, printer, limit, context)
            } else {
                try list(name, query, printer, context)
            }
        }
        return ExitStatus.success
    }

    /// Prints changes and knows the last one.
    private final class Printer {
        let console: Console
        let asJSON: Bool
        let limit: Int
        private(set) var lastSequence: String
        private(set) var count = 0

        init(console: Console, asJSON: Bool, limit: Int, lastSequence: String) {
            self.console = console
            self.asJSON = asJSON
            self.limit = limit
            self.lastSequence = lastSequence
        }

        var isDone: Bool { count >= limit }

        func print(_ change: JSONValue) throws {
            guard let id = change["id"]?.stringValue, let sequence = change["seq"] else { return }
            lastSequence = sequence.stringValue ?? sequence.canonicalText()
            count += 1
            if asJSON {
                try console.print(change.canonicalText())
                return
            }
            let revision = change["changes"]?[0]?["rev"]?.stringValue ?? ""
            let deleted = change["deleted"]?.boolValue ?? false ? "  deleted" : ""
            try console.print("\(lastSequence)  \(revision)  \(DisplayText.safe(id))\(deleted)")
        }
    }

    private static func list(
        _ name: String, _ options: [(name: String, value: String)], _ printer: Printer, _ context: CommandContext
    ) throws {
        while !printer.isDone {
            let page = min(CommandLimits.changesPageCount, printer.limit - printer.count)
            let before = printer.count
            let query = options + [("since", printer.lastSequence), ("limit", "\(page)")]
            try context.node.rowStream(NodeRequest("GET", [name, "_changes"], query: query)) { change in
                try printer.print(change)
                return printer.isDone ? .enough : .more
            }
            if printer.count - before < page { return }
        }
    }

    private static func follow(
        _ name: String, _ options: [(name: String, value: String)], _ printer: Printer, _ limit: Int?,
        _ context: CommandContext
    ) throws {
        var query = options
        query += [
            ("feed", "continuous"), ("since", printer.lastSequence),
            ("heartbeat", "\(CommandLimits.feedHeartbeatMilliseconds)"),
        ]
        if let limit { query.append(("limit", "\(limit)")) }
        var splitter = LineSplitter(lineBytesMax: CommandLimits.documentBytesMax)
        do {
            try context.node.stream(
                NodeRequest("GET", [name, "_changes"], query: query),
                silenceMilliseconds: CommandLimits.feedSilenceMilliseconds
            ) { piece in
                try splitter.receive(piece) { (line) throws in
                    // An empty line is a sign of life.
                    if line.isEmpty || printer.isDone { return }
                    try printer.print(try NodeClient.parse(line))
                }
                try printer.console.flush()
                return printer.isDone ? .enough : .more
            }
        } catch let error as KithError where error.code == .connectionLost {
            throw ended(name, printer)
        }
        if !printer.isDone { throw ended(name, printer) }
    }

    private static func ended(_ name: String, _ printer: Printer) -> KithError {
        KithError(
            .connectionLost, "the node has ended",
            remedy:
                "Go on from here when it is back: kith changes \(ShellQuoting.quote(name)) --follow --since \(printer.lastSequence)"
        )
    }
}
