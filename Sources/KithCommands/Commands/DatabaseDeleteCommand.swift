import Glibc
import KithDocuments

/// `kith db delete`
enum DatabaseDeleteCommand: Command {
    static let spec = CommandSpec(
        "db delete", summary: "delete a database on this node",
        positionals: [PositionalSpec("NAME", help: "the database")],
        options: [Confirmation.option],
        details: [
            "Only this node forgets it, with every document in it; peers keep theirs. Asks first when a person is at the terminal."
        ],
        examples: [CommandExample("kith db delete notes", "deletes the database notes here")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        return try Explanation.about(name) {
            if try Confirmation.isNeeded(arguments, context.console) {
                let state = try context.node.json(NodeRequest("GET", [name]))
                let named = (state["collections"]?.arrayValue ?? []).map { $0["doc_count"]?.intValue ?? 0 }
                let count = Quantity.of(named.reduce(state["doc_count"]?.intValue ?? 0, +), "document")
                context.console.noteRaw("Delete \(DisplayText.safe(name)) with \(count) on this node? [y/N] ")
                guard let answer = readLine(), ["y", "yes"].contains(answer.lowercased()) else {
                    context.console.note("Nothing was deleted.")
                    return ExitStatus.attention
                }
            }
            _ = try context.node.send(NodeRequest("DELETE", [name]))
            try context.console.print("Deleted \(DisplayText.safe(name))")
            return ExitStatus.success
        }
    }
}
