import KithDocuments

/// `kith cert renew`
enum CertRenewCommand: Command {
    static let spec = CommandSpec(
        "cert renew", summary: "make a new certificate for the same key",
        options: [OptionSpec("json", help: "the node's ID and until when the certificate is valid, as JSON")],
        details: [
            "The node stays the same to its peers, which look at the key alone; links stay. It is done by itself ten years before a certificate ends, unless an authority has signed it, so this is only for programs that insist on dates."
        ],
        examples: [CommandExample("kith cert renew", "makes a new certificate, valid for 20 years")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let value = try context.withNode { client in
            try client.json(NodeRequest("POST", ["_kith", "certificate"]))
        } orHome: { home in
            try home.renewCertificate()
        }
        let console = context.console
        if arguments.has("json") {
            try console.print(value.canonicalText())
        } else {
            let end = (value["validThrough"]?.stringValue).flatMap(Instant.init(parsing:))
            let year = end.map { " It is valid until \(Moment.current.tellPoint($0))." } ?? ""
            try console.print("\(StatusMarks.good(console.style)) The certificate is new, the key is the same.\(year)")
        }
        return ExitStatus.success
    }
}
