import KithDocuments

/// `kith untrust`
enum UntrustCommand: Command {
    static let spec = CommandSpec(
        "untrust", summary: "take trust back from a node",
        positionals: [PositionalSpec("NAME|NODE-ID", help: "a peer, as `kith status` names it, or its ID")],
        details: ["Its connection is cut at once. It keeps what it already has; this node keeps what came from it."],
        examples: [CommandExample("kith untrust laptop", "exchanges nothing with laptop any more")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let who = arguments.positional(0) ?? ""
        guard !who.isEmpty else { throw KithError(.badName, "the name of the peer is empty") }
        let name: String
        do {
            name = try context.withNode { client in
                let answer = try client.json(NodeRequest("DELETE", ["_kith", "peers", who]))
                return answer["name"]?.stringValue ?? who
            } orHome: { home in
                try home.untrust(who).name
            }
        } catch let error as KithError where error.code == .notFound {
            throw KithError(
                .notFound, "there is no peer \(DisplayText.safe(who))", remedy: "See the peers: kith status --peers")
        }
        let console = context.console
        try console.print("\(StatusMarks.good(console.style)) \(DisplayText.safe(name)) is not trusted any more")
        return ExitStatus.success
    }
}
