import KithDocuments

/// `kith peers restore`
enum PeersRestoreCommand: Command {
    static let spec = CommandSpec(
        "peers restore", summary: "trust a revoked peer again, on this node",
        positionals: [PositionalSpec("PEER", isOptional: true, help: "the peer, by its name or ID")],
        options: [
            OptionSpec("by", value: .required("PEER"), help: "all that this peer has revoked"),
            OptionSpec("name", value: .required("NAME"), help: "what it is called from now on"),
            OptionSpec("json", help: "each restored peer as JSON"),
        ],
        details: [
            "Overrules on this node whatever was said against it up to now. Other nodes are not told: a person decides on each of them."
        ],
        examples: [
            CommandExample("kith peers restore laptop", "trusts laptop again"),
            CommandExample("kith peers restore --by tablet", "undoes what a stolen tablet has said of others"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        var ids: [String] = []
        if let by = arguments.value("by") {
            guard arguments.positional(0) == nil, arguments.value("name") == nil else {
                throw UsageError("--by is about all that a peer has revoked", hint: "Leave out PEER and --name")
            }
            let revoked = try context.node.json(NodeRequest("GET", ["_kith", "peers"]))["revoked"]?.arrayValue ?? []
            ids = revoked.filter { isBy($0, by) }.compactMap { $0["id"]?.stringValue }
            guard !ids.isEmpty else {
                throw KithError(
                    .notFound, "nobody is revoked by \(DisplayText.safe(by)) here", remedy: "See the peers: kith peers")
            }
        } else if let name = arguments.positional(0) {
            ids = [name]
        } else {
            throw UsageError("kith peers restore needs a peer, or --by", hint: "See: kith help peers restore")
        }
        var failure: (any Error)?
        for id in ids {
            var body: JSONValue = [:]
            if let name = arguments.value("name") { body["name"] = .string(name) }
            let request = NodeRequest("DELETE", ["_kith", "peers", id, "revocation"], body: body.canonicalBytes())
            let console = context.console
            let peer: JSONValue
            do {
                peer = try PeersCommand.one(id, request, context)
            } catch let error as KithError where ids.count > 1 && error.code == .nameTaken {
                // One that stays revoked keeps none of the others from being restored.
                console.note("\(StatusMarks.attention(console.style)) \(error.message)")
                failure = error
                continue
            }
            if arguments.has("json") {
                try console.print(peer.canonicalText())
            } else {
                let name = DisplayText.safe(peer["name"]?.stringValue ?? id)
                try console.print("\(StatusMarks.good(console.style)) \(name) is trusted again, on this node")
            }
        }
        if let failure { throw failure }
        return ExitStatus.success
    }

    private static func isBy(_ peer: JSONValue, _ by: String) -> Bool {
        guard let revocation = peer["revocation"], revocation["here"]?.boolValue != true else { return false }
        let typed = plain(by)
        let id = plain(revocation["byID"]?.stringValue ?? "")
        return DisplayText.same(revocation["by"]?.stringValue ?? "", by)
            || (typed.count >= 8 && (typed == id || (typed.count == 8 && id.hasPrefix(typed))))
    }

    private static func plain(_ text: String) -> String { String(text.uppercased().filter { $0 != "-" && $0 != " " }) }
}
