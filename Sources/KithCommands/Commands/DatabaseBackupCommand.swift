import KithDocuments

/// `kith db backup`
enum DatabaseBackupCommand: Command {
    static let spec = CommandSpec(
        "db backup", summary: "write a database into one file",
        positionals: [
            PositionalSpec("NAME", help: "the database"), PositionalSpec("FILE", help: "the file to write; a new one"),
        ],
        options: [OptionSpec("json", help: "the result as JSON")],
        details: [
            "The file is the database as it is at this moment, with every version and attachment, while the node goes on. It appears under its name only when it is complete, can be read by its owner only, and is written by the node."
        ],
        examples: [CommandExample("kith db backup notes /media/stick/notes.kith", "backs up notes")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let file = try MaintenanceRequest.absolutePath(arguments.positional(1) ?? "")
        let request = MaintenanceRequest(
            [name, "_backup"], body: [("file", .string(file))], words: ["copying": "Backing up"])
        let result = try Explanation.about(name) { try request.run(context) }
        if arguments.has("json") {
            try context.console.print(result.canonicalText())
        } else {
            let size = Quantity.bytes(result["bytes"]?.intValue ?? 0)
            try context.console.print("Backed up \(DisplayText.safe(name)) to \(DisplayText.safe(file)), \(size)")
        }
        return ExitStatus.success
    }
}
