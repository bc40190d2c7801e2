import KithDocuments

/// `kith db digest`
enum DatabaseDigestCommand: Command {
    static let spec = CommandSpec(
        "db digest", summary: "print one hash over everything in a database",
        positionals: [PositionalSpec("NAME", help: "the database")],
        options: [OptionSpec("json", help: "the digest and the counts as JSON")],
        details: [
            "Two nodes print the same when their databases hold the same documents with the same revisions, conflicts and winners: SHA-256 over every document in the order of the IDs, with the body of every leaf."
        ],
        examples: [
            CommandExample("kith db digest notes", "typed on two nodes, tells whether notes is the same on both")
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        // Every document is read: a large database takes longer than other answers.
        let client = context.client(
            timeoutMilliseconds: context.timeoutMilliseconds ?? CommandLimits.digestAnswerMilliseconds)
        let value = try Explanation.about(name) { try client.json(NodeRequest("GET", [name, "_digest"])) }
        if arguments.has("json") {
            try context.console.print(value.canonicalText())
            return ExitStatus.success
        }
        guard let digest = value["digest"]?.stringValue else { throw ConnectionFailure.garbage("no digest") }
        try context.console.print(digest)
        let count = { (member: String) in value[member]?.intValue ?? 0 }
        var parts = [
            Quantity.of(count("documents"), "document"), "\(Quantity.grouped(count("deleted"))) deleted",
            Quantity.of(count("revisions"), "revision"),
        ]
        if count("conflicts") > 0 { parts.append("\(Quantity.grouped(count("conflicts"))) in conflict") }
        try context.console.print("  " + parts.joined(separator: ", "))
        return ExitStatus.success
    }
}
