import KithDocuments

/// `kith explain`
enum ExplainCommand: Command {
    static let spec = CommandSpec(
        "explain", summary: "say why a document is, or is not, on a peer",
        positionals: DocumentAddress.positionals,
        options: [
            OptionSpec("peer", value: .required("PEER"), help: "only this peer, by its name or ID"),
            OptionSpec("json", help: "as JSON"),
        ],
        details: [
            "A document that one side would not take is refused with a reason, and holds up no other. It is offered again when it changes, and when a new link is made, since the cause may be gone then."
        ],
        examples: [
            CommandExample("kith explain notes/list:1", "says of every peer whether it has it"),
            CommandExample("kith explain notes/list:1 --peer laptop", "only of laptop"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(arguments)
        var query = [(name: "id", value: address.document)]
        if let peer = arguments.value("peer") { query.append(("peer", peer)) }
        let answer: JSONValue
        do {
            answer = try context.node.json(NodeRequest("GET", [address.database, "_explain"], query: query))
        } catch let error as KithError {
            // A peer that is not known has a reason of its own.
            guard error.code != .notFound || DisplayText.same(error.message, "missing") else { throw error }
            throw Explanation.of(error, database: address.database, document: address.document)
        }
        if arguments.has("json") {
            try context.console.print(answer.canonicalText())
        } else {
            let page = ExplanationPage(
                address: address, answer: answer, moment: .current, style: context.console.style)
            for line in page.lines { try context.console.print(line) }
        }
        return ExitStatus.success
    }
}
