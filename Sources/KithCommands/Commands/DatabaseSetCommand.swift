import KithDocuments

/// `kith db set`
enum DatabaseSetCommand: Command {
    static let spec = CommandSpec(
        "db set", summary: "show or change what a database is set to",
        positionals: [
            PositionalSpec("NAME", help: "the database"),
            PositionalSpec(
                "SETTING=VALUE", isOptional: true, help: "what to change; without it all settings are shown"),
        ],
        options: [OptionSpec("json", help: "all settings as JSON")],
        details: [
            "merge: none, or three-way. With three-way a document that was changed on two nodes apart is merged by itself, field by field from the version that both had; where both changed the same field, the version that is shown now has it. An edit beats a deletion. Set it on all nodes, since one that merges keeps old versions for that.",
            "revs-limit: how many revisions of a document's history are kept, 1 to 100000. keep-old-bodies: true or false; whether the content of old revisions stays until kith db compact, also without merges.",
            "Settings belong to this node; peers have their own.",
        ],
        examples: [
            CommandExample("kith db set notes", "shows the settings"),
            CommandExample("kith db set notes merge=three-way", "merges conflicts by itself from now on"),
        ])

    private static let names = ["merge": "merge", "revs-limit": "revs_limit", "keep-old-bodies": "keep_old_bodies"]

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let database = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let request =
            try arguments.positional(1).map {
                NodeRequest("PUT", [database, "_settings"], body: try change($0).canonicalBytes())
            } ?? NodeRequest("GET", [database, "_settings"])
        let settings = try Explanation.about(database) { try context.node.json(request) }
        if arguments.has("json") {
            try context.console.print(settings.canonicalText())
            return ExitStatus.success
        }
        for (name, member) in names.sorted(by: { $0.key < $1.key }) {
            guard let value = settings[member] else { continue }
            try context.console.print("\(name)=\(DisplayText.safe(value.stringValue ?? value.canonicalText()))")
        }
        return ExitStatus.success
    }

    /// `merge=three-way` as the node takes it.
    private static func change(_ text: String) throws -> JSONValue {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let known = names.keys.sorted().joined(separator: ", ")
        guard parts.count == 2 else {
            throw UsageError("“\(DisplayText.safe(text))” is not SETTING=VALUE", hint: "The settings are: \(known)")
        }
        guard let member = names[parts[0]] else {
            throw UsageError("there is no setting \(DisplayText.safe(parts[0]))", hint: "The settings are: \(known)")
        }
        let value: JSONValue =
            switch (member, parts[1]) {
            case ("keep_old_bodies", "true"): true
            case ("keep_old_bodies", "false"): false
            case ("revs_limit", let digits): try JSONValue(NumberArgument.count(digits, parts[0]))
            default: .string(parts[1])
            }
        return [member: value]
    }
}
