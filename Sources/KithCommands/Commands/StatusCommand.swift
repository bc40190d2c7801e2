import KithDocuments

/// `kith status`
enum StatusCommand: Command {
    static let spec = CommandSpec(
        "status", summary: "say how this node is",
        positionals: [PositionalSpec("PEER|DB", isOptional: true, help: "only this peer or database, in full")],
        options: [
            OptionSpec(
                "watch", short: "w", value: .optional("SECONDS"),
                help: "go on: redraw on a terminal, one line for each change in a pipe"),
            OptionSpec("json", value: .optional("1"), help: "as JSON, version 1; with --watch one object on each line"),
            OptionSpec(
                "check", help: "print only problems; exit code 1: something needs attention, 2: stopped by an error"),
            OptionSpec("peers", help: "only the peers"),
            OptionSpec("no-peers", help: "everything but the peers"),
            OptionSpec("problems", help: "only problems and conflicts"),
            OptionSpec("verbose", short: "v", help: "with whole IDs, addresses and each database of each peer"),
            OptionSpec("redact", help: "without document IDs and addresses, for a bug report"),
        ],
        details: [
            "The first line answers “is it all right?”. TO SEND is what a peer does not have yet, TO RECEIVE what this node does not have; a peer that is away stays listed. Exit code 3: no node runs; 4: it does not answer, or access is denied."
        ],
        examples: [
            CommandExample("kith", "the same as kith status"),
            CommandExample("kith status --watch", "shows how syncing goes on"),
            CommandExample("kith status --json | jq '.peers[].toSend'", "for programs"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        if let version = arguments.value("json"), version != "1" {
            throw UsageError(
                "there is no version \(DisplayText.safe(version)) of the status", hint: "Type --json or --json=1")
        }
        if arguments.has("peers"), arguments.has("no-peers") {
            throw UsageError("--peers and --no-peers exclude each other")
        }
        let client = context.client(
            timeoutMilliseconds: context.timeoutMilliseconds ?? CommandLimits.statusAnswerMilliseconds)
        if arguments.has("watch") {
            let view = try StatusView(arguments)
            return try StatusWatch(client, view, context).run()
        }
        let view = try StatusView(arguments)
        let value: JSONValue
        do {
            value = try client.json(NodeRequest("GET", ["_kith", "status"]))
        } catch let error as KithError {
            if view.isJSON { try context.console.print(StoppedScreen.json(error).prettyText()) }
            // A person sees the screen in place of the one line of an error.
            if !view.isJSON, context.console.errorIsTerminal {
                for line in StoppedScreen.lines(error, context.console.style) { context.console.note(line) }
                return error.code.exitCode
            }
            throw error
        }
        let shown = view.isRedacted ? StatusRedaction.redact(value) : value
        let report = try StatusReport(shown)
        if view.isJSON {
            try context.console.print(shown.prettyText())
        } else {
            for line in try view.lines(report, .current, context.console.style) { try context.console.print(line) }
        }
        guard arguments.has("check") else { return ExitStatus.success }
        return report.isStopped
            ? ExitStatus.stopped : report.needsAttention ? ExitStatus.attention : ExitStatus.success
    }
}
