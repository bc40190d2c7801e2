import KithDocuments

/// `kith peers show`
enum PeersShowCommand: Command {
    static let spec = CommandSpec(
        "peers show", summary: "show everything that is known of a peer",
        positionals: [PositionalSpec("PEER", help: "the peer, by its name or ID")],
        options: [OptionSpec("json", help: "the peer as JSON")],
        details: [
            "When and how it was paired, when it was compared last, what it may do, when it was seen and where, the keys that it had before, and who has revoked it. When it was seen is remembered as long as the node runs; before that, when both last had the same."
        ],
        examples: [CommandExample("kith peers show laptop", "shows all of laptop")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        let peer = try PeersCommand.one(name, NodeRequest("GET", ["_kith", "peers", name]), context)
        if arguments.has("json") {
            try context.console.print(peer.canonicalText())
        } else {
            for line in PeerCard(peer: peer, moment: .current, style: context.console.style).lines {
                try context.console.print(line)
            }
        }
        return ExitStatus.success
    }
}
