import KithDocuments

/// `kith db create`
enum DatabaseCreateCommand: Command {
    static let spec = CommandSpec(
        "db create", summary: "make a database",
        positionals: [PositionalSpec("NAME", help: "small letters, digits and _$()+-/, beginning with a letter")],
        details: [
            "Databases of the same name are replicated between nodes that trust each other.",
            "A collection in a database is named DB.COLLECTION or DB.SCOPE.COLLECTION, here and wherever documents are meant.",
        ],
        examples: [
            CommandExample("kith db create notes", "makes the database notes"),
            CommandExample("kith db create notes.drafts", "makes the collection drafts in it"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        do {
            _ = try context.node.send(NodeRequest("PUT", [name]))
        } catch let error as KithError where error.code == .databaseExists {
            throw KithError(.databaseExists, "the database \(DisplayText.safe(name)) is there already")
        }
        try context.console.print("Created \(DisplayText.safe(name))")
        return ExitStatus.success
    }
}
