import KithDocuments

/// `kith list`
enum ListCommand: Command {
    static let spec = CommandSpec(
        "list", summary: "list the documents of a database",
        positionals: [PositionalSpec("DB", help: "the database")],
        options: [
            OptionSpec("prefix", value: .required("TEXT"), help: "only IDs that begin like this"),
            OptionSpec("limit", value: .required("N"), help: "at most so many"),
            OptionSpec("docs", help: "whole documents, one JSON object on each line"),
            OptionSpec("json", help: "ID and revision as one JSON object on each line"),
        ],
        details: ["Prints the IDs in the order of their bytes, one on each line."],
        examples: [
            CommandExample("kith list notes", "prints the ID of each document"),
            CommandExample("kith list notes --prefix list: --docs | jq .items", "reads a field of some of them"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let prefix = arguments.value("prefix")
        let limit = try arguments.value("limit").map { try NumberArgument.count($0, "--limit") } ?? Int.max
        let withDocuments = arguments.has("docs")
        let console = context.console
        var count = 0
        try Explanation.about(name) {
            try context.node.allDocuments(
                in: name, from: prefix, includeDocuments: withDocuments,
                pageSize: min(limit, CommandLimits.listPageDocuments)
            ) { id, row in
                if let prefix, !id.utf8.starts(with: prefix.utf8) { return .enough }
                if withDocuments {
                    try console.print(try NodeClient.document(in: row).canonicalText())
                } else if arguments.has("json") {
                    let line: JSONValue = ["id": .string(id), "rev": row["value"]?["rev"] ?? .null]
                    try console.print(line.canonicalText())
                } else {
                    try console.print(console.style.isTerminal ? DisplayText.safe(id) : id)
                }
                count += 1
                return count >= limit ? .enough : .more
            }
        }
        return ExitStatus.success
    }
}
