import KithDocuments
import KithTrust

/// `kith trust`
enum TrustCommand: Command {
    static let spec = CommandSpec(
        "trust", summary: "pair with the node that has this ID",
        positionals: [PositionalSpec("NODE-ID", help: "what `kith id` prints on the other machine")],
        options: [OptionSpec("name", value: .required("NAME"), help: "what the node is called here")],
        details: [
            "Both sides must trust each other before anything is exchanged: type it on the other machine too, with this node's ID. Capitals, dashes and spaces do not matter."
        ],
        examples: [
            CommandExample(
                "kith trust K7QX-2M9F-… --name laptop", "shares this node's databases with the node of that ID")
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let id = try NodeID(parsing: arguments.positional(0) ?? "")
        let name = arguments.value("name")
        let (peer, own) = try context.withNode { client in
            let own = try knownNode(try client.json(NodeRequest("GET", ["_kith", "id"])))
            try check(id, isNot: own)
            let body: JSONValue = name.map { ["name": .string($0)] } ?? [:]
            let request = NodeRequest("PUT", ["_kith", "peers", id.description], body: body.canonicalBytes())
            return (try knownNode(try client.json(request)), own)
        } orHome: { home in
            try check(id, isNot: home.node)
            return (try home.trust(id, name: name), home.node)
        }
        let console = context.console
        try console.print("\(StatusMarks.good(console.style)) Trusted \(peer.shown)")
        try console.print("  Nothing is exchanged before it trusts this node too. There, type, unless it is done:")
        try console.print("    kith trust \(own.id) --name \(ShellQuoting.quote(own.name))")
        return ExitStatus.success
    }

    private static func check(_ id: NodeID, isNot own: KnownNode) throws {
        if DisplayText.same(own.id, id.description) {
            throw KithError(
                .badNodeID, "that is the ID of this node itself",
                remedy: "Type the ID that kith id prints on the other one")
        }
    }

    /// A node as the administration interface tells it.
    static func knownNode(_ value: JSONValue) throws -> KnownNode {
        guard let id = value["id"]?.stringValue else { throw ConnectionFailure.garbage("a node without an ID") }
        return KnownNode(
            name: value["name"]?.stringValue ?? "", id: id, short: value["short"]?.stringValue ?? String(id.prefix(9)))
    }
}
