import KithDocuments

/// `kith db compact`
enum DatabaseCompactCommand: Command {
    static let spec = CommandSpec(
        "db compact", summary: "make a database as small as what it holds",
        positionals: [PositionalSpec("NAME", help: "the database")],
        options: [OptionSpec("json", help: "the result as JSON")],
        details: [
            "Drops bodies of old revisions and attachments that no document has, and gives free space back. Documents stay as they are, and others read and write meanwhile. It can be interrupted."
        ],
        examples: [CommandExample("kith db compact notes", "says how much smaller notes has become")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let request = MaintenanceRequest(
            [name, "_compact"],
            words: [
                "oldBodies": "Dropping old revisions", "unusedBlobs": "Dropping attachments",
                "freePages": "Giving back space",
            ])
        let result = try Explanation.about(name) { try request.run(context) }
        if arguments.has("json") {
            try context.console.print(result.canonicalText())
            return ExitStatus.success
        }
        guard let before = result["bytes_before"]?.intValue, let after = result["bytes_after"]?.intValue else {
            throw ConnectionFailure.garbage("no sizes")
        }
        try context.console.print(
            "\(DisplayText.safe(name)) takes \(Quantity.bytes(after)), before it were \(Quantity.bytes(before))")
        return ExitStatus.success
    }
}
