import Glibc
import KithDocuments
import KithNode

/// `kith sync`
enum SyncCommand: Command {
    static let spec = CommandSpec(
        "sync", summary: "replicate a database once, now",
        positionals: [
            PositionalSpec("DB", help: "the database"),
            PositionalSpec("URL", isOptional: true, help: "with this database of a CouchDB server, in place of peers"),
        ],
        options: [
            OptionSpec(
                "peer", value: .required("PEER"), isRepeatable: true, help: "with this peer; else with all of them"),
            OptionSpec("push", help: "only from here to the peer"),
            OptionSpec("pull", help: "only from the peer to here"),
            OptionSpec("doc", value: .required("ID"), isRepeatable: true, help: "only this document"),
            OptionSpec("continuous", help: "with URL: go on with what comes, until Ctrl-C"),
            OptionSpec("create-target", help: "with URL: make the database there if it is not there"),
            OptionSpec("user-file", value: .required("FILE"), help: "with URL: a file with USER:PASSWORD"),
            OptionSpec("ca-file", value: .required("FILE"), help: "with URL: authorities to believe, not the system's"),
            OptionSpec("json", help: "one JSON object for each step, and for the result"),
        ],
        details: [
            "Ends when what was there at its beginning is on both sides, as far as either lets it travel; with exit code 0 only if no document of it stands refused, also from before. A document that is edited faster than it travels comes with the next. What is replicated always goes on beside it.",
            "With several peers it replicates with one after the other, and one that is not reached does not stop the others.",
            "Ctrl-C gives it up; what has travelled stays, and the next begins there.",
            "With URL it replicates with a CouchDB server: https://USER@HOST:6984/DB. A password does not belong there, where others see it: it is read from --user-file, from KITH_SYNC_PASSWORD, or asked for. Use https:// wherever others could listen.",
        ],
        examples: [
            CommandExample("kith sync notes --peer laptop", "replicates notes with laptop, both ways"),
            CommandExample(
                "kith sync notes https://couch.example:6984/notes --user-file couch.txt",
                "replicates notes with a database of a CouchDB server"),
            CommandExample("kith sync notes --push --doc list:1", "sends one document to every peer"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let database = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        guard !arguments.has("push") || !arguments.has("pull") else {
            throw UsageError("--push and --pull are both ways: leave them out", hint: "See: kith help sync")
        }
        let direction = arguments.has("push") ? "send" : arguments.has("pull") ? "receive" : "both"
        if let url = arguments.positional(1) { return try run(database, url, direction, arguments, context) }
        for option in urlOptions where arguments.has(option) {
            throw UsageError("--\(option) is for a CouchDB server: its URL is missing", hint: "See: kith help sync")
        }
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
        return try end(refused: refused, database)
    }

    private static func end(refused: Int, _ database: String) throws -> Int32 {
        guard refused == 0 else {
            throw KithError(
                .forbidden, "\(Quantity.of(refused, "document stands", "documents stand")) refused",
                remedy: "See why: kith status \(DisplayText.safe(database))")
        }
        return ExitStatus.success
    }

    private static let urlOptions = ["continuous", "create-target", "user-file", "ca-file"]

    /// With a database of a CouchDB server.
    private static func run(
        _ database: String, _ url: String, _ direction: String, _ arguments: ParsedArguments, _ context: CommandContext
    ) throws -> Int32 {
        guard !arguments.has("peer") else {
            throw UsageError("--peer and a URL are two different places", hint: "See: kith help sync")
        }
        guard CouchDBAddress.isURL(url) else {
            throw UsageError(
                "“\(DisplayText.safe(url))” is no URL", hint: "A peer is named with --peer; a URL begins with https://")
        }
        let address = try CouchDBAddress(parsing: url)
        var body: JSONValue = ["url": .string(address.url), "direction": .string(direction)]
        body["auth"] = try ServerCredentials.find(address, arguments, context)
        let documents = arguments.values("doc")
        if !documents.isEmpty { body["doc_ids"] = .array(documents.map { .string($0) }) }
        if arguments.has("continuous") { body["continuous"] = true }
        if arguments.has("create-target") { body["create_target"] = true }
        if let file = arguments.value("ca-file") {
            // The node has another folder.
            guard let path = realpath(file, nil) else {
                throw KithError(.inputOutput, "\(DisplayText.safe(file)) cannot be read: \(SystemText.error(errno))")
            }
            defer { free(path) }
            body["ca_file"] = .string(String(cString: path))
        }
        Interruption.begin()
        let run = SyncRun(peer: address.url, database: database, body: body, asJSON: arguments.has("json"))
        guard let refused = try run.run(context) else {
            context.console.note("kith: given up; what has travelled stays")
            return 128 + Interruption.signal
        }
        return try end(refused: refused, database)
    }

    /// Whether a peer may do anything with a database.
    private static func shares(_ peer: JSONValue, _ database: String) -> Bool {
        let access = peer["databases"]?[database]?["access"]?.stringValue ?? peer["access"]?.stringValue
        return access.map { !DisplayText.same($0, "none") } ?? true
    }
}
