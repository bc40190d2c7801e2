import KithDocuments

/// `kith db copy`
enum DatabaseCopyCommand: Command {
    static let spec = CommandSpec(
        "db copy", summary: "make a new database with the content of a file",
        positionals: [
            PositionalSpec("FILE", help: "a backup, or the file of a database that nobody has open"),
            PositionalSpec("NAME", help: "the database to make; there must be none of that name"),
        ],
        options: [OptionSpec("json", help: "the result as JSON")],
        details: [
            "For content that is brought along to many machines. It is another database than that of the file; one that was lost is brought back with kith db restore."
        ],
        examples: [
            CommandExample("kith db copy /usr/share/app/places.kith places", "makes places with what is in the file")
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        try DatabaseRestoreCommand.restore(arguments, context, isNew: true)
    }
}
