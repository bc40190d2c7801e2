import KithDocuments

/// `kith get`
enum GetCommand: Command {
    static let spec = CommandSpec(
        "get", summary: "print a document",
        positionals: [
            PositionalSpec("DB", help: "the database"), PositionalSpec("DOC", help: "the document's ID"),
        ],
        options: [
            OptionSpec("rev", value: .required("REV"), help: "this revision, also one that lost a conflict"),
            OptionSpec("conflicts", help: "list the other versions as _conflicts"),
            OptionSpec("pretty", help: "over several lines, as on a terminal"),
            OptionSpec("compact", help: "on one line, as in a pipe"),
        ],
        examples: [
            CommandExample("kith get notes list:1", "prints the document with its _id and _rev"),
            CommandExample("kith get notes list:1 --rev 6-77d0…", "prints a version that lost a conflict"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(
            database: arguments.positional(0) ?? "", document: arguments.positional(1) ?? "")
        let revision = try arguments.value("rev").map { try RevisionID(parsing: $0).description }
        var query: [(name: String, value: String)] = []
        if let revision { query.append(("rev", revision)) }
        if arguments.has("conflicts") { query.append(("conflicts", "true")) }
        let answer = try Explanation.about(address.database, address.document, revision: revision) {
            try context.node.send(NodeRequest("GET", address.path, query: query))
        }
        if arguments.has("pretty") || context.console.style.isTerminal && !arguments.has("compact") {
            try context.console.print(DocumentText.pretty(try NodeClient.parse(answer.body)))
        } else {
            // As it came: programs get the very bytes.
            try context.console.write(answer.body)
            if answer.body.last != UInt8(ascii: "\n") { try context.console.write([UInt8(ascii: "\n")]) }
        }
        return ExitStatus.success
    }
}
