import KithDocuments

/// `kith delete`
enum DeleteCommand: Command {
    static let spec = CommandSpec(
        "delete", summary: "delete a document",
        positionals: [
            PositionalSpec("DB", help: "the database"), PositionalSpec("DOC", help: "the document's ID"),
        ],
        options: [
            OptionSpec("rev", value: .required("REV"), help: "the revision that is deleted (else the current one)")
        ],
        details: [
            "The deletion is replicated like any other change. With --rev a version that lost a conflict is deleted, which resolves the conflict. Prints the ID and the revision of the deletion."
        ],
        examples: [CommandExample("kith delete notes list:1", "deletes the document on every node")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(
            database: arguments.positional(0) ?? "", document: arguments.positional(1) ?? "")
        let given = try arguments.value("rev").map { try RevisionID(parsing: $0).description }
        let answer = try Explanation.about(address.database, address.document, revision: given) {
            var revision = given
            if revision == nil {
                let current = try context.node.json(NodeRequest("GET", address.path))
                revision = current["_rev"]?.stringValue
            }
            let query = revision.map { [(name: "rev", value: $0)] } ?? []
            return try context.node.json(NodeRequest("DELETE", address.path, query: query))
        }
        let id = DisplayText.safe(answer["id"]?.stringValue ?? address.document)
        try context.console.print("\(id)  \(answer["rev"]?.stringValue ?? "")  deleted")
        return ExitStatus.success
    }
}
