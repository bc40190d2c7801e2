import KithDocuments

/// `kith peers rename`
enum PeersRenameCommand: Command {
    static let spec = CommandSpec(
        "peers rename", summary: "call a peer otherwise, on this node",
        positionals: [
            PositionalSpec("PEER", help: "the peer, by its name or ID"), PositionalSpec("NAME", help: "its new name"),
        ],
        options: [OptionSpec("json", help: "the peer as JSON")],
        details: ["Only this node calls it so; a name that another peer has is refused."],
        examples: [CommandExample("kith peers rename laptop annas-laptop", "calls laptop annas-laptop")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let (name, new) = (arguments.positional(0) ?? "", arguments.positional(1) ?? "")
        let body: JSONValue = ["name": .string(new)]
        let request = NodeRequest("PUT", ["_kith", "peers", name, "name"], body: body.canonicalBytes())
        let peer = try PeersCommand.one(name, request, context)
        if arguments.has("json") {
            try context.console.print(peer.canonicalText())
        } else {
            let console = context.console
            try console.print(
                "\(StatusMarks.good(console.style)) \(DisplayText.safe(name)) is called \(DisplayText.safe(new)) here now"
            )
        }
        return ExitStatus.success
    }
}
