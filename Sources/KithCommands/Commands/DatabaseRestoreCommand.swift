import KithDocuments

/// `kith db restore`
enum DatabaseRestoreCommand: Command {
    static let spec = CommandSpec(
        "db restore", summary: "bring a lost database back from a backup",
        positionals: [
            PositionalSpec("FILE", help: "what kith db backup has written"),
            PositionalSpec("NAME", help: "the database to make; there must be none of that name"),
        ],
        options: [OptionSpec("json", help: "the result as JSON")],
        details: [
            "It goes on as the database that was lost: peers send what is missing, and take what they lack. The backup stays as it is. A database that shall begin as a copy of another one is made with kith db copy."
        ],
        examples: [CommandExample("kith db restore /media/stick/notes.kith notes", "makes notes from the backup")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        try restore(arguments, context, isNew: false)
    }

    /// What `db copy` does too, with the difference of one word.
    static func restore(_ arguments: ParsedArguments, _ context: CommandContext, isNew: Bool) throws -> Int32 {
        let file = try MaintenanceRequest.absolutePath(arguments.positional(0) ?? "")
        let name = try DocumentAddress.checkedDatabase(arguments.positional(1) ?? "")
        let request = MaintenanceRequest(
            ["_kith", "restore"],
            body: [("file", .string(file)), ("name", .string(name)), ("new", .bool(isNew))],
            words: ["copying": isNew ? "Copying" : "Restoring", "file": "Checking the file"])
        let result = try request.run(context)
        if arguments.has("json") {
            try context.console.print(result.canonicalText())
        } else {
            let what = isNew ? "Made \(DisplayText.safe(name)) as a copy of" : "Restored \(DisplayText.safe(name)) from"
            try context.console.print("\(what) \(DisplayText.safe(file))")
        }
        return ExitStatus.success
    }
}
