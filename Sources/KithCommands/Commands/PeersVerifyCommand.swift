import KithDocuments

/// `kith peers verify`
enum PeersVerifyCommand: Command {
    static let spec = CommandSpec(
        "peers verify", summary: "compare the keys of both nodes, out loud",
        positionals: [PositionalSpec("PEER", help: "the peer, by its name or ID")],
        options: [
            OptionSpec(
                "accept", value: .required("NODE-ID"), help: "trust this key in the place of the one that is known"),
            Confirmation.option, OptionSpec("json", help: "what is to be compared, as JSON; with --yes it is noted"),
        ],
        details: [
            "Type it on both machines: both show the same twelve words, made of both keys. When they are the same on both, the book says when that was.",
            "Where a machine shows another key than the one that was paired, both are shown. If it was set up anew, compare the new ID with what kith id prints there, and give it to --accept; the other machine has to trust this one again as well. If it was not, somebody uses its name, and there is nothing to do here.",
        ],
        examples: [CommandExample("kith peers verify laptop", "shows the words that laptop shows as well")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        let console = context.console
        if let id = arguments.value("accept") {
            guard try Confirmation.ask("Trust this key in its place?", arguments, console) else {
                console.note("Nothing was changed.")
                return ExitStatus.attention
            }
            let body: JSONValue = ["id": .string(id)]
            let request = NodeRequest("PUT", ["_kith", "peers", name, "key"], body: body.canonicalBytes())
            let peer = try PeersCommand.one(name, request, context)
            if arguments.has("json") {
                try console.print(peer.canonicalText())
            } else {
                let shown = DisplayText.safe(peer["name"]?.stringValue ?? name)
                try console.print(
                    "\(StatusMarks.good(console.style)) \(shown) is trusted with the key \(DisplayText.safe(peer["short"]?.stringValue ?? ""))"
                )
            }
            return ExitStatus.success
        }
        let path = ["_kith", "peers", name, "verification"]
        var value = try PeersCommand.one(name, NodeRequest("GET", path), context)
        let isJSON = arguments.has("json")
        if !isJSON {
            for line in VerificationCard(value: value, moment: .current, style: console.style).lines {
                try console.print(line)
            }
        }
        // Without a person who is really asked there is nothing to note; the words stand there for a script to show.
        if arguments.has("yes") || (!isJSON && console.inputIsTerminal && console.errorIsTerminal) {
            guard try Confirmation.ask("  Same on both?", arguments, console) else {
                console.note("  Nothing was noted. If they differ, somebody may be between the two: kith peers revoke")
                return ExitStatus.attention
            }
            value = try PeersCommand.one(name, NodeRequest("PUT", path), context)
            if !isJSON {
                let shown = DisplayText.safe(value["name"]?.stringValue ?? name)
                try console.print("\(StatusMarks.good(console.style)) Compared with \(shown)")
            }
        }
        if isJSON { try console.print(value.canonicalText()) }
        return ExitStatus.success
    }
}
