import KithDocuments

/// `kith peers`
enum PeersCommand: Command {
    static let spec = CommandSpec(
        "peers", summary: "show who is trusted, and what each may do",
        positionals: [PositionalSpec("PEER", isOptional: true, help: "only this peer, by its name or ID")],
        options: [OptionSpec("json", help: "one JSON object on each line")],
        details: [
            "A peer may read and write every database that both have, unless something else was said with kith peers set, of all or of single ones."
        ],
        examples: [
            CommandExample("kith peers", "lists all peers"), CommandExample("kith peers laptop", "shows one"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        var peers: [JSONValue]
        var revoked: [JSONValue] = []
        if let name = arguments.positional(0) {
            let peer = try one(name, NodeRequest("GET", ["_kith", "peers", name]), context)
            let isRevoked = peer["revocation"].map { $0 != .null } ?? false
            (peers, revoked) = isRevoked ? ([], [peer]) : ([peer], [])
        } else {
            let answer = try context.node.json(NodeRequest("GET", ["_kith", "peers"]))
            peers = answer["peers"]?.arrayValue ?? []
            revoked = answer["revoked"]?.arrayValue ?? []
        }
        try show(peers, asJSON: arguments.has("json"), context.console)
        try showRevoked(revoked, asJSON: arguments.has("json"), belowOthers: !peers.isEmpty, context.console)
        if peers.isEmpty, revoked.isEmpty, context.console.style.isTerminal {
            context.console.note("There is no peer yet. See who is nearby with: kith pair")
        }
        return ExitStatus.success
    }

    /// What the node answers about one peer.
    static func one(_ name: String, _ request: NodeRequest, _ context: CommandContext) throws -> JSONValue {
        guard !name.isEmpty else { throw KithError(.badName, "the name of the peer is empty") }
        do {
            return try context.node.json(request)
        } catch let error as KithError where error.code == .notFound {
            throw KithError(
                .notFound, "there is no peer \(DisplayText.safe(name))", remedy: "See the peers: kith peers")
        }
    }

    /// Prints peers, each with what was said of single databases below it.
    static func show(_ peers: [JSONValue], asJSON: Bool, _ console: Console) throws {
        if asJSON {
            for peer in peers { try console.print(peer.canonicalText()) }
            return
        }
        guard !peers.isEmpty else { return }
        var table = TextTable(console.style)
        table.add(["PEER", "ID", "MAY", "REPLICATED"].map { TextTable.Cell($0, .dim) })
        for peer in peers {
            table.add([
                TextTable.Cell(DisplayText.safe(peer["name"]?.stringValue ?? "")),
                TextTable.Cell(DisplayText.safe(peer["short"]?.stringValue ?? "")),
                TextTable.Cell(may(peer["access"]?.stringValue ?? "both")),
                TextTable.Cell(replicated(peer["replication"]?.stringValue ?? "continuous")),
            ])
            for (name, sharing) in peer["databases"]?.objectValue ?? [:] {
                table.add([
                    TextTable.Cell("  " + DisplayText.safe(name)), TextTable.Cell(""),
                    TextTable.Cell(sharing["access"]?.stringValue.map(may) ?? "as above"),
                    TextTable.Cell(sharing["replication"]?.stringValue.map(replicated) ?? "as above"),
                ])
            }
        }
        for line in table.lines { try console.print(line) }
    }

    /// Prints those that are revoked, with who has said so.
    private static func showRevoked(
        _ peers: [JSONValue], asJSON: Bool, belowOthers: Bool, _ console: Console
    ) throws {
        if asJSON {
            for peer in peers { try console.print(peer.canonicalText()) }
            return
        }
        guard !peers.isEmpty else { return }
        if belowOthers { try console.print("") }
        var table = TextTable(console.style)
        table.add(["REVOKED", "ID", "BY"].map { TextTable.Cell($0, .dim) })
        for peer in peers {
            table.add([
                TextTable.Cell(DisplayText.safe(peer["name"]?.stringValue ?? "")),
                TextTable.Cell(DisplayText.safe(peer["short"]?.stringValue ?? "")),
                TextTable.Cell(PeerCard.revocation(peer["revocation"] ?? [:], .current)),
            ])
        }
        for line in table.lines { try console.print(line) }
    }

    static func may(_ access: String) -> String {
        switch access {
        case "both": "read and write"
        case "none": "nothing"
        default: DisplayText.safe(access) + " only"
        }
    }

    static func replicated(_ replication: String) -> String {
        switch replication {
        case "continuous": "always"
        case "manual": "on demand"
        default: DisplayText.safe(replication)
        }
    }
}
