import KithDocuments

/// `kith export`
enum ExportCommand: Command {
    static let spec = CommandSpec(
        "export", summary: "print all documents of a database",
        positionals: [
            PositionalSpec("DB", help: "the database"),
            PositionalSpec("FILE", isOptional: true, help: "the file to write (else the standard output)"),
        ],
        options: [OptionSpec("conflicts", help: "also the versions that lost a conflict, after all others")],
        details: [
            "One JSON object on each line, with _id and _rev, in the order of the IDs. A file appears under its name only when it is complete."
        ],
        examples: [
            CommandExample("kith export notes notes.jsonl", "writes every document to the file"),
            CommandExample("kith export notes | gzip > notes.jsonl.gz", "the same into a pipe"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let console = context.console
        let path = arguments.positional(1).flatMap { $0 == "-" ? nil : $0 }
        var progress = ProgressLine(console)
        var count = 0
        try Explanation.about(name) {
            // Before the file: a database that is not there leaves none behind.
            _ = try context.node.send(NodeRequest("GET", [name]))
            let file = try path.map(OutputFile.init)
            func write(_ document: JSONValue) throws {
                var line = document.canonicalBytes()
                line.append(UInt8(ascii: "\n"))
                if let file { try file.write(line) } else { try console.write(line) }
                count += 1
                if file != nil { progress.show("\(Quantity.of(count, "document")) exported") }
            }
            try context.node.allDocuments(
                in: name, from: nil, includeDocuments: true, pageSize: CommandLimits.listPageDocuments
            ) { _, row in
                try write(try NodeClient.document(in: row))
                return .more
            }
            if arguments.has("conflicts") { try losers(of: name, context, write) }
            try file?.complete()
        }
        progress.clear()
        if let path { try console.print("\(Quantity.of(count, "document")) exported to \(DisplayText.safe(path))") }
        return ExitStatus.success
    }

    private static func losers(
        of database: String, _ context: CommandContext, _ write: (JSONValue) throws -> Void
    ) throws {
        try ConflictsCommand.each(in: database, context) { id, _, _ in
            let address = try DocumentAddress(database: database, document: id)
            let winner = try context.node.document(address, withConflicts: true)
            for revision in winner?["_conflicts"]?.arrayValue?.compactMap(\.stringValue) ?? [] {
                if let loser = try context.node.document(address, revision: revision) { try write(loser) }
            }
            return true
        }
    }
}
