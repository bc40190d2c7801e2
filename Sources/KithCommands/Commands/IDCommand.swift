import KithDocuments

/// `kith id`
enum IDCommand: Command {
    static let spec = CommandSpec(
        "id", summary: "print this node's ID, to be typed on another machine",
        options: [
            OptionSpec("short", help: "only the first eight characters, as status shows them"),
            OptionSpec("json", help: "ID, short ID and name as JSON"),
        ],
        details: [
            "The ID is the fingerprint of the node's public key, with characters that catch every slip in typing it. It is no secret."
        ],
        examples: [CommandExample("kith id", "prints the ID; on the other machine: kith trust ID")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let node = try context.withNode { client in
            let value = try client.json(NodeRequest("GET", ["_kith", "id"]))
            return try TrustCommand.knownNode(value)
        } orHome: { home in
            home.node
        }
        if arguments.has("json") {
            let value: JSONValue = ["id": .string(node.id), "short": .string(node.short), "name": .string(node.name)]
            try context.console.print(value.canonicalText())
        } else {
            try context.console.print(arguments.has("short") ? node.short : node.id)
        }
        return ExitStatus.success
    }
}
