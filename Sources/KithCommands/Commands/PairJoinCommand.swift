import KithDocuments

/// `kith pair join`
enum PairJoinCommand: Command {
    static let spec = CommandSpec(
        "pair join", summary: "pair with the machine that gave out a code",
        positionals: [
            PositionalSpec(
                "CODE",
                help:
                    "what kith pair invite shows there, or the text of its QR code; - reads it from the standard input"),
            PositionalSpec(
                "NAME|ADDRESS", isOptional: true, help: "who gave it; needed where it is not seen nearby"),
        ],
        options: [OptionSpec("json", help: "one JSON object a line")],
        details: [
            "Without a name it is tried with every node nearby that has an invitation open. Words may be shortened to three letters.",
            "Other users of this machine can see the arguments of a command: where that matters, let it read the code from the standard input.",
        ],
        examples: [
            CommandExample("kith pair join 7-harbor-desert-bridge", "pairs with whoever gave out that code"),
            CommandExample(
                "kith pair join 'kith:join/1?code=7-harbor-desert-bridge&at=192.168.1.20:4984'",
                "pairs by what a camera has read"),
            CommandExample("kith pair join - 192.168.1.20 < code.txt", "for a program, by address"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let isJSON = arguments.has("json")
        var code = arguments.positional(0) ?? ""
        if code == "-" { code = readLine(strippingNewline: true) ?? "" }
        var body: [(String, JSONValue)] = [("code", .string(code))]
        if let with = arguments.positional(1) {
            guard !with.isEmpty else { throw KithError(.badName, "the name of the machine is empty") }
            body.append(("with", .string(with)))
        }
        let request = NodeRequest(
            "POST", ["_kith", "joins"], query: [("feed", "continuous")],
            body: JSONValue.object(JSONObject(body)).canonicalBytes())
        let console = context.console
        var last: JSONValue = [:]
        let signal = try FollowedFeed.follow(
            request, context, silenceMilliseconds: CommandLimits.pairingMilliseconds
        ) {
            last["join"]?.intValue.map { ["_kith", "joins", String($0)] }
        } show: { line in
            last = line
            if isJSON {
                try console.print(line.canonicalText())
                try console.flush()
            }
        }
        switch last["state"]?.stringValue {
        case "paired":
            if !isJSON {
                try console.print(PairedText.line(last, console.style))
                try console.print("  \(PairedText.shared(last["terms"], who: "You"))")
                if let warning = PairedText.wasRevoked(last, console.style) { console.note(warning) }
                if last["confirmed"]?.boolValue != true {
                    console.note("  It did not say that it trusts this node as well.")
                    console.note("  If kith status does not show it in sync soon, pair once more.")
                }
                if let doubtful = last["doubtful"]?.intValue, doubtful > 0 {
                    console.note(
                        "  Before it, \(doubtful) other machines nearby answered for this code; see the node's log.")
                }
            }
            return ExitStatus.success
        case "failed" where signal != 0:
            console.note("\nGiven up; nothing was paired.")
            return 128 + signal
        case "failed":
            let code = last["error"]?.stringValue ?? ""
            throw KithError(
                ErrorCode.named(code) ?? .unknown(named: code, httpStatus: 500), last["message"]?.stringValue ?? "",
                remedy: last["remedy"]?.stringValue)
        default: throw ConnectionFailure.ended()
        }
    }
}
