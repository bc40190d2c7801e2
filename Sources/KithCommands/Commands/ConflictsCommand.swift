import KithDocuments

/// `kith conflicts`
enum ConflictsCommand: Command {
    static let spec = CommandSpec(
        "conflicts", summary: "list the documents in conflict",
        positionals: [PositionalSpec("DB", isOptional: true, help: "only of this database")],
        options: [
            OptionSpec("limit", value: .required("N"), help: "at most so many"),
            OptionSpec("json", help: "one JSON object on each line"),
        ],
        details: [
            "A document is in conflict when it was changed on two nodes that did not know of each other's change. Every node shows the same version; the others are kept until somebody decides."
        ],
        examples: [
            CommandExample("kith conflicts", "lists the documents in conflict of all databases"),
            CommandExample("kith conflicts show notes/list:1", "shows all versions of one of them"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        // `kith conflicts list DB` is written in the same way as `kith db list`.
        let limit = try arguments.value("limit").map { try NumberArgument.count($0, "--limit") } ?? Int.max
        let databases: [String]
        if let name = arguments.positional(0) {
            databases = [try DocumentAddress.checkedDatabase(name)]
        } else {
            databases =
                try context.node.json(NodeRequest("GET", ["_all_dbs"])).arrayValue?.compactMap(\.stringValue) ?? []
        }
        let console = context.console
        var table = TextTable(console.style)
        table.add(["CONFLICT", "VERSIONS", "SHOWN NOW"].map { TextTable.Cell($0, .dim) })
        var count = 0
        var first: (String, String)?
        var problems: [String] = []
        for database in try databases.flatMap({ try keyspaces(of: $0, context) }) where count < limit {
            try each(in: database, context) { id, leaves, problem in
                let live = leaves.filter { !($0["deleted"]?.boolValue ?? false) }
                if arguments.has("json") {
                    let revisions = JSONValue.array(live.compactMap { $0["rev"] })
                    var line: JSONValue = ["database": .string(database), "id": .string(id), "revisions": revisions]
                    if let problem { line["problem"] = .string(problem) }
                    try console.print(line.canonicalText())
                } else {
                    table.add([
                        TextTable.Cell(DisplayText.safe(database + "/" + id)), TextTable.Cell("\(live.count)"),
                        TextTable.Cell(live.first?["rev"]?.stringValue ?? ""),
                    ])
                }
                if let problem, problems.count < CommandLimits.conflictProblemsShown { problems.append(problem) }
                if first == nil { first = (database, id) }
                count += 1
                return count < limit
            }
        }
        if arguments.has("json") { return ExitStatus.success }
        guard let first else {
            try console.print("No document is in conflict.")
            return ExitStatus.success
        }
        for line in table.lines { try console.print(line) }
        try console.print("")
        for problem in problems {
            let lines = DisplayText.wrapped(DisplayText.safe(problem), width: console.style.columns - 2)
            for line in lines { try console.print("  " + line) }
        }
        if !problems.isEmpty { try console.print("") }
        try console.print("  Every device shows the same version meanwhile; no version is lost.")
        try console.print(
            "    See all versions        kith conflicts show \(ShellQuoting.quote(first.0)) \(ShellQuoting.quote(first.1))"
        )
        return ExitStatus.success
    }

    private static func keyspaces(of database: String, _ context: CommandContext) throws -> [String] {
        try Explanation.about(database) { try context.node.keyspaces(of: database) }
    }

    /// Calls back with each document in conflict, its leaves, the winner first, and why it was not merged by itself where
    /// that was tried, until it answers false.
    static func each(
        in database: String, _ context: CommandContext,
        _ body: (_ id: String, _ leaves: [JSONValue], _ problem: String?) throws -> Bool
    ) throws {
        var last: String?
        while true {
            var query: [(name: String, value: String)] = [("limit", "\(CommandLimits.conflictsPageCount)")]
            if let last { query.append(("startkey", JSONValue.string(last).canonicalText())) }
            let answer = try Explanation.about(database) {
                try context.node.json(NodeRequest("GET", [database, "_conflicts"], query: query))
            }
            let rows = answer["rows"]?.arrayValue ?? []
            var isNew = false
            for row in rows {
                guard let id = row["id"]?.stringValue else { continue }
                // Whether the page begins with or after its key, it is taken once.
                if let last, id.utf8.lexicographicallyPrecedes(last.utf8) || DisplayText.same(id, last) { continue }
                isNew = true
                last = id
                guard try body(id, row["leaves"]?.arrayValue ?? [], row["problem"]?.stringValue) else { return }
            }
            if !isNew || rows.count < CommandLimits.conflictsPageCount { return }
        }
    }
}
