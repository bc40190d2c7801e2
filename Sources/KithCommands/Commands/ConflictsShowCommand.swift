import KithDocuments

/// `kith conflicts show`
enum ConflictsShowCommand: Command {
    static let spec = CommandSpec(
        "conflicts show", summary: "show all versions of a document in conflict",
        positionals: DocumentAddress.positionals,
        examples: [
            CommandExample("kith conflicts show notes/list:1", "prints the version shown now and each other one")
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(arguments)
        let console = context.console
        let winner = try Explanation.about(address.database, address.document) {
            try context.node.json(NodeRequest("GET", address.path, query: [("conflicts", "true")]))
        }
        let shown = winner["_rev"]?.stringValue ?? ""
        let others = winner["_conflicts"]?.arrayValue?.compactMap(\.stringValue) ?? []
        guard !others.isEmpty else {
            try console.print("\(address.shown)   is not in conflict")
            return ExitStatus.success
        }
        try console.print("\(address.shown)   in conflict, \(others.count + 1) versions")
        try console.print("")
        try show(winner, shown, note: "shown now", console)
        for revision in others {
            guard let version = try context.node.document(address, revision: revision) else { continue }
            let paths = DocumentText.differences(DocumentText.body(winner), DocumentText.body(version), pathsMax: 8)
            let more = paths.count == 8 ? ", …" : ""
            try show(
                version, revision,
                note: paths.isEmpty ? "the same body" : "differs in " + paths.joined(separator: ", ") + more,
                console)
        }
        let name = ShellQuoting.quote(address.database + "/" + address.document)
        try console.print("    Keep one                kith conflicts resolve \(name) --keep \(others[0].prefix(10))")
        try console.print("    Write a merged version  kith conflicts resolve \(name) --file merged.json")
        return ExitStatus.success
    }

    private static func show(_ version: JSONValue, _ revision: String, note: String, _ console: Console) throws {
        try console.print("  \(Paint.bold.apply(revision, console.style))  \(note)")
        for line in DocumentText.pretty(DocumentText.body(version)).split(separator: "\n") {
            try console.print("    " + line)
        }
        try console.print("")
    }
}
