import KithDocuments

/// `kith sync`
enum SyncCommand: Command {
    static let spec = CommandSpec(
        "sync", summary: "replicate a database once, now",
        positionals: [PositionalSpec("DB", help: "the database")],
        options: [
            OptionSpec(
                "peer", value: .required("PEER"), isRepeatable: true, help: "with this peer; else with all of them"),
            OptionSpec("push", help: "only from here to the peer"),
            OptionSpec("pull", help: "only from the peer to here"),
            OptionSpec("doc", value: .required("ID"), isRepeatable: true, help: "only this document"),
            OptionSpec("json", help: "one JSON object for each step, and for the result"),
        ],
        details: [
            "Ends when what was there at its beginning is on both sides, as far as either lets it travel; with exit code 0 only if no document of it stands refused, also from before. A document that is edited faster than it travels comes with the next. What is replicated always goes on beside it.",
            "With several peers it replicates with one after the other, and one that is not reached does not stop the others.",
            "Ctrl-C gives it up; what has travelled stays, and the next begins there.",
        ],
        examples: [
            CommandExample("kith sync notes --peer laptop", "replicates notes with laptop, both ways"),
            CommandExample("kith sync notes --push --doc list:1", "sends one document to every peer"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let database = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        guard !arguments.has("push") || !arguments.has("pull") else {
            throw UsageError("--push and --pull are both ways: leave them out", hint: "See: kith help sync")
        }
        let direction = arguments.has("push") ? "send" : arguments.has("pull") ? "receive" : "both"
        var peers = arguments.values("peer")
        let isOfAll = peers.isEmpty
        if isOfAll {
            let known = try context.node.json(NodeRequest("GET", ["_kith", "peers"]))["peers"]?.arrayValue ?? []
            peers = known.filter { shares($0, database) }.compactMap { $0["name"]?.stringValue }
            guard !peers.isEmpty else {
                throw KithError(
                    .notFound, "there is no peer with which \(DisplayText.safe(database)) is shared",
                    remedy: "See the peers: kith peers")
            }
        }
        let documents = arguments.values("doc")
        var failure: KithError?
        var refused = 0
        var missing: KithError?
        var isDone = false
        // The screen is put in order before it ends.
        Interruption.begin()
        for peer in peers {
            var body: JSONValue = ["peer": .string(peer), "direction": .string(direction)]
            if !documents.isEmpty { body["doc_ids"] = .array(documents.map { .string($0) }) }
            do {
                let run = SyncRun(peer: peer, database: database, body: body, asJSON: arguments.has("json"))
                guard let count = try run.run(context) else {
                    context.console.note("kith: given up; what has travelled stays")
                    return 128 + Interruption.signal
                }
                refused += count
                isDone = true
            } catch let error as KithError where isOfAll && peers.count > 1 && error.code == .databaseNotFound {
                // Not every peer has every database.
                context.console.note("  \(error.message)")
                missing = error
                continue
            } catch let error as KithError where isOfAll && peers.count > 1 && error.code != .noNode {
                if failure != nil { context.console.note("kith: \(failure!.message)") }
                failure = error
            }
        }
        if let failure = failure ?? (isDone ? nil : missing) { throw failure }
        guard refused == 0 else {
            throw KithError(
                .forbidden, "\(Quantity.of(refused, "document stands", "documents stand")) refused",
                remedy: "See why: kith status \(DisplayText.safe(database))")
        }
        return ExitStatus.success
    }

    /// Whether a peer may do anything with a database.
    private static func shares(_ peer: JSONValue, _ database: String) -> Bool {
        let access = peer["databases"]?[database]?["access"]?.stringValue ?? peer["access"]?.stringValue
        return access.map { !DisplayText.same($0, "none") } ?? true
    }
}
