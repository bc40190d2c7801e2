import KithDocuments

/// `kith pair invite`
enum PairInviteCommand: Command {
    static let spec = CommandSpec(
        "pair invite", summary: "give out a code with which another machine can pair",
        options: [
            OptionSpec(
                "db", value: .required("NAME"), isRepeatable: true,
                help: "share this database with it, and no other (else all that both have)"),
            OptionSpec("read-only", help: "it may read here and not write"),
            OptionSpec("expires", value: .required("TIME"), help: "how long the code is good (else 10m)"),
            OptionSpec("qr", help: "show the code as a picture too, for a camera"),
            OptionSpec("json", help: "one JSON object a line; the first has the code, and the picture's text as uri"),
        ],
        details: [
            "Prints a code: a digit and three words. Whoever types it on the other machine, with kith pair join, has paired the two: tell it to nobody else. It is good once, and only while this command waits; after three wrong codes it is good no more.",
            "With --qr the code and where this machine is are also shown as a QR code. It is drawn dark on light; where colours are switched off, it is right on dark terminals only. What a camera reads in it can be typed after kith pair join in the place of the code.",
            "Nothing needs to be compared, so the machines may stand in different rooms, and a program can do it.",
        ],
        examples: [
            CommandExample("kith pair invite", "then, on the other machine: kith pair join CODE"),
            CommandExample(
                "kith pair invite --db notes --read-only", "the other machine may read notes, and nothing else"),
            CommandExample("kith pair invite --qr", "shows a QR code as well"),
            CommandExample("kith pair invite --expires 1h --json", "for a program"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let isJSON = arguments.has("json")
        var body: [(String, JSONValue)] = []
        if let text = arguments.value("expires") {
            guard let milliseconds = DurationText.milliseconds(text), milliseconds % 1_000 == 0 else {
                throw UsageError(
                    "“\(DisplayText.safe(text))” is not a length of time in whole seconds",
                    hint: "Type it like 90s, 10m or 2h")
            }
            body.append(("expires", JSONValue(Int64(milliseconds / 1_000))))
        }
        if !arguments.values("db").isEmpty {
            body.append(
                (
                    "databases",
                    .array(
                        try arguments.values("db").map {
                            .string(try DocumentAddress.checkedDatabase($0))
                        })
                ))
        }
        if arguments.has("read-only") { body.append(("access", "read")) }
        let request = NodeRequest(
            "POST", ["_kith", "invitations"], query: [("feed", "continuous")],
            body: JSONValue.object(JSONObject(body)).canonicalBytes())
        let console = context.console
        var last: JSONValue = [:]
        let signal = try FollowedFeed.follow(
            request, context, silenceMilliseconds: CommandLimits.invitationMilliseconds
        ) {
            last["invitation"]?.intValue.map { ["_kith", "invitations", String($0)] }
        } show: { line in
            if isJSON {
                try console.print(line.canonicalText())
            } else if let code = line["code"]?.stringValue {
                if arguments.has("qr"), let text = line["uri"]?.stringValue {
                    try show(QRCode(text), console)
                }
                try show(code, until: line["expires_at"]?.stringValue, console)
            } else if let left = line["tries_left"]?.intValue, left < (last["tries_left"]?.intValue ?? left) {
                console.note("\(who(line)) used a wrong code. \(left == 1 ? "1 try" : "\(left) tries") left.")
            }
            try console.flush()
            last = line
        }
        switch last["state"]?.stringValue {
        case "used":
            if !isJSON {
                console.note("\(who(last)) used the code.")
                try console.print(PairedText.line(last, console.style))
                try console.print("  \(PairedText.shared(last["terms"], who: "It"))")
                if let warning = PairedText.wasRevoked(last, console.style) { console.note(warning) }
            }
            return ExitStatus.success
        case "expired": throw KithError(.timedOut, "nobody used the code in time", remedy: "Make a new one")
        case "spent":
            throw KithError(
                .notTrusted, "too many wrong codes came; this one is good no more, and nothing was paired",
                remedy: "If nobody mistyped it, somebody is guessing. Make a new one: kith pair invite")
        case "cancelled" where signal != 0:
            console.note("\nTaken back; nothing was paired.")
            return 128 + signal
        case "open" where signal != 0:
            console.note("\nThe code is being used at this moment; see who is trusted with: kith peers")
            return 128 + signal
        case "cancelled": throw KithError(.closed, "the invitation was taken back")
        default: throw ConnectionFailure.ended()
        }
    }

    private static func show(_ picture: QRCode, _ console: Console) throws {
        let columns = picture.columns(console.style)
        guard !console.style.isTerminal || columns <= console.style.columns else {
            return console.note("The terminal is too narrow for the QR code: it takes \(columns) columns.")
        }
        for row in picture.rows(console.style) { try console.print(row) }
        try console.print("")
    }

    private static func show(_ code: String, until time: String?, _ console: Console) throws {
        try console.print("On the other machine, type:")
        try console.print("")
        try console.print("    kith pair join \(DisplayText.safe(code))")
        try console.print("")
        let until = time.flatMap { Instant(parsing: $0) }.map { ", until \(LocalTime.inSystemZone($0).clock)" }
        try console.print("Good once\(until ?? ""). Ctrl-C takes it back.")
    }

    private static func who(_ line: JSONValue) -> String {
        let address = line["address"]?.stringValue.map { " (\(DisplayText.safe($0)))" } ?? ""
        return "\(DisplayText.safe(line["name"]?.stringValue ?? "A machine"))\(address)"
    }
}
