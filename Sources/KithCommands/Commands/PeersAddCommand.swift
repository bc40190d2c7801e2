import KithDocuments

/// `kith peers add`
enum PeersAddCommand: Command {
    static let spec = CommandSpec(
        "peers add", summary: "look for peers at an address that discovery does not reach",
        positionals: [
            PositionalSpec(
                "ADDRESS", isOptional: true,
                help: "HOST or HOST:PORT; without it, the addresses that are given are shown")
        ],
        options: [
            OptionSpec("remove", help: "look for nobody there any more"),
            OptionSpec("json", help: "one JSON object for each address"),
        ],
        details: [
            "For networks without multicast, and for other networks. The address says where to look, not whom to trust: whoever answers there must be a peer, by its key. It is kept in config.json.",
            "A link-local IPv6 address is written with the interface of this machine: [fe80::1%eth0]:4984.",
        ],
        examples: [
            CommandExample("kith peers add 192.168.7.20", "looks for peers at port 4984 there"),
            CommandExample("kith peers add '[fe80::1%eth0]:4984'", "the same over IPv6 on eth0"),
            CommandExample("kith peers add", "shows where peers are looked for, and who answers"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        guard let address = arguments.positional(0) else {
            guard !arguments.has("remove") else { throw UsageError("--remove needs an address") }
            return try list(asJSON: arguments.has("json"), context)
        }
        guard !address.isEmpty else { throw UsageError("the address is empty") }
        let removes = arguments.has("remove")
        let answer = try context.node.json(
            NodeRequest(removes ? "DELETE" : "PUT", ["_kith", "addresses", address]))
        if arguments.has("json") {
            try console.print(answer.canonicalText())
        } else if removes {
            try console.print(
                "\(StatusMarks.good(console.style)) Nobody is looked for at \(DisplayText.safe(address)) any more")
        } else {
            let kept = DisplayText.safe(answer["address"]?.stringValue ?? address)
            try console.print("\(StatusMarks.good(console.style)) Peers are looked for at \(kept)")
        }
        return ExitStatus.success
    }

    private static func list(asJSON: Bool, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        let given = try context.node.json(NodeRequest("GET", ["_kith", "addresses"]))["addresses"]?.arrayValue ?? []
        if asJSON {
            for one in given { try console.print(one.canonicalText()) }
            return ExitStatus.success
        }
        guard !given.isEmpty else {
            if console.style.isTerminal {
                console.note("No address is given. To look for peers at one: kith peers add ADDRESS")
            }
            return ExitStatus.success
        }
        var table = TextTable(console.style)
        table.add(["ADDRESS", "PEER"].map { TextTable.Cell($0, .dim) })
        for one in given {
            table.add([
                TextTable.Cell(DisplayText.safe(one["address"]?.stringValue ?? "")),
                TextTable.Cell(DisplayText.safe(one["peer"]?.stringValue ?? "nobody yet")),
            ])
        }
        for line in table.lines { try console.print(line) }
        return ExitStatus.success
    }
}
