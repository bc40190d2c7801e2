import KithDocuments

/// `kith db list`
enum DatabaseListCommand: Command {
    static let spec = CommandSpec(
        "db list", summary: "list the databases",
        options: [OptionSpec("json", help: "one JSON object on each line")],
        examples: [CommandExample("kith db list", "prints each database with its documents and size")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        let names = try context.node.json(NodeRequest("GET", ["_all_dbs"])).arrayValue ?? []
        var table = TextTable(console.style, rightAligned: [1, 2])
        for name in names.compactMap(\.stringValue) {
            let state: JSONValue
            do {
                state = try context.node.json(NodeRequest("GET", [name]))
            } catch let error as KithError where [.notFound, .databaseNotFound].contains(error.code) {
                continue  // deleted since it was listed
            }
            if arguments.has("json") {
                try console.print(state.canonicalText())
                continue
            }
            var row = [
                TextTable.Cell(DisplayText.safe(name)),
                TextTable.Cell(Quantity.of(state["doc_count"]?.intValue ?? 0, "document")),
                TextTable.Cell(Quantity.bytes(state["sizes"]?["file"]?.intValue ?? 0)),
            ]
            if let conflicts = state["conflicts"]?.intValue, conflicts > 0 {
                row.append(TextTable.Cell("\(Quantity.grouped(conflicts)) in conflict", .yellow))
            }
            table.add(row)
            for collection in state["collections"]?.arrayValue ?? [] {
                let full = name + "." + (collection["name"]?.stringValue ?? "")
                var row = [
                    TextTable.Cell("  " + DisplayText.safe(full)),
                    TextTable.Cell(Quantity.of(collection["doc_count"]?.intValue ?? 0, "document")),
                ]
                if let conflicts = collection["conflicts"]?.intValue, conflicts > 0 {
                    row.append(TextTable.Cell(""))
                    row.append(TextTable.Cell("\(Quantity.grouped(conflicts)) in conflict", .yellow))
                }
                table.add(row)
            }
        }
        for line in table.lines { try console.print(line) }
        if names.isEmpty, console.style.isTerminal {
            console.note("There is no database yet. Make one with: kith db create NAME")
        }
        return ExitStatus.success
    }
}
