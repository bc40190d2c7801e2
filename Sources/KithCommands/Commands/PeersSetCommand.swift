import KithDocuments

/// `kith peers set`
enum PeersSetCommand: Command {
    static let spec = CommandSpec(
        "peers set", summary: "say what a peer may do, and when it is replicated with",
        positionals: [
            PositionalSpec("PEER", help: "the peer, by its name or ID"),
            PositionalSpec("SETTING=VALUE", help: "what to change"),
            PositionalSpec("SETTING=VALUE", isOptional: true, help: "and what else"),
        ],
        options: [
            OptionSpec("database", value: .required("NAME"), help: "only for this database"),
            OptionSpec("json", help: "the peer as JSON"),
        ],
        details: [
            "Without --database it is said of all databases of which nothing else is.",
            "access: both; read, so that changes go to the peer and none comes from it; write, so that its changes come and none goes to it; none, so that the database is not there for it. Both nodes have a say: a change travels where the one gives it and the other takes it.",
            "replication: continuous, or manual: then databases are replicated when somebody types kith sync, on either node.",
            "default instead of a value takes back what was said. Connections that it concerns are cut at once, and made again. What a peer already has it keeps.",
        ],
        examples: [
            CommandExample("kith peers set laptop access=read", "takes no changes from laptop any more"),
            CommandExample(
                "kith peers set laptop access=none --database photos", "hides photos from laptop"),
            CommandExample("kith peers set laptop replication=manual", "replicates with laptop on demand only"),
        ])

    private static let values = [
        "access": ["both", "read", "write", "none"], "replication": ["continuous", "manual"],
    ]

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        var body: JSONValue = [:]
        for index in 1...2 {
            guard let text = arguments.positional(index) else { break }
            let (setting, value) = try change(text)
            body[setting] = value
        }
        if let database = arguments.value("database") {
            body["database"] = .string(try DocumentAddress.checkedDatabase(database))
        }
        let request = NodeRequest("PUT", ["_kith", "peers", name, "sharing"], body: body.canonicalBytes())
        let peer = try PeersCommand.one(name, request, context)
        try PeersCommand.show([peer], asJSON: arguments.has("json"), context.console)
        return ExitStatus.success
    }

    /// `access=read` as the node takes it.
    private static func change(_ text: String) throws -> (setting: String, value: JSONValue) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let known = values.keys.sorted().joined(separator: ", ")
        guard parts.count == 2 else {
            throw UsageError("“\(DisplayText.safe(text))” is not SETTING=VALUE", hint: "The settings are: \(known)")
        }
        guard let values = values[parts[0]] else {
            throw UsageError("there is no setting \(DisplayText.safe(parts[0]))", hint: "The settings are: \(known)")
        }
        if DisplayText.same(parts[1], "default") { return (parts[0], .null) }
        guard values.contains(where: { DisplayText.same($0, parts[1]) }) else {
            throw UsageError(
                "\(parts[0]) cannot be “\(DisplayText.safe(parts[1]))”",
                hint: "It is one of: \(values.joined(separator: ", ")), default")
        }
        return (parts[0], .string(parts[1]))
    }
}
