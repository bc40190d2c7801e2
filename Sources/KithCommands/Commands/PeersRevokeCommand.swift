import KithDocuments

/// `kith peers revoke`
enum PeersRevokeCommand: Command {
    static let spec = CommandSpec(
        "peers revoke", summary: "trust a peer no more, and tell all other peers",
        positionals: [PositionalSpec("PEER", help: "the peer, by its name or ID")],
        options: [
            OptionSpec("reason", value: .required("TEXT"), help: "why, for the people at the other nodes"),
            Confirmation.option, OptionSpec("json", help: "the peer as JSON, with who was told"),
        ],
        details: [
            "For a machine that was lost or stolen. Its connection is cut at once. Every other peer is told as soon as it is reached, in words that this node signs, and cuts it off as well; status there says who has revoked it, and why.",
            "It keeps what it already has. On each node a person can overrule it: kith peers restore, or pairing it again. To part with a peer without telling anybody: kith untrust.",
        ],
        examples: [
            CommandExample("kith peers revoke laptop --reason 'left on the train'", "cuts laptop off everywhere")
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        let console = context.console
        let shown = try PeersCommand.one(name, NodeRequest("GET", ["_kith", "peers", name]), context)
        let safe = DisplayText.safe(shown["name"]?.stringValue ?? name)
        if !arguments.has("yes") {
            console.note("\(safe) will no longer be able to sync with this node, and paired nodes will be told.")
            console.note("It keeps what it already has.")
        }
        guard try Confirmation.ask("Revoke?", arguments, console) else {
            console.note("Nothing was changed.")
            return ExitStatus.attention
        }
        var body: JSONValue = [:]
        if let reason = arguments.value("reason") { body["reason"] = .string(reason) }
        let id = shown["id"]?.stringValue ?? name
        let request = NodeRequest("PUT", ["_kith", "peers", id, "revocation"], body: body.canonicalBytes())
        let peer = try PeersCommand.one(name, request, context)
        if arguments.has("json") {
            try console.print(peer.canonicalText())
            return ExitStatus.success
        }
        let short = DisplayText.safe(peer["short"]?.stringValue ?? "")
        let told = names(peer["told"]).map { ($0, "") } + names(peer["waiting"]).map { ($0, " (when it returns)") }
        let whom = told.isEmpty ? "" : " Told: \(told.map { $0 + $1 }.joined(separator: ", "))."
        try console.print("\(StatusMarks.good(console.style)) Revoked \(safe)  \(short).\(whom)")
        return ExitStatus.success
    }

    private static func names(_ value: JSONValue?) -> [String] {
        (value?.arrayValue ?? []).compactMap(\.stringValue).map(DisplayText.safe)
    }
}
