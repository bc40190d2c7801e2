import KithDocuments
import KithTrust

/// `kith cert install`
enum CertInstallCommand: Command {
    static let spec = CommandSpec(
        "cert install", summary: "put a certificate in place that an authority has signed",
        positionals: [PositionalSpec("FILE", help: "the certificate in PEM form; - reads it from the standard input")],
        options: [OptionSpec("json", help: "the node's ID and until when the certificate is valid, as JSON")],
        details: [
            "It must be of this node's key, and good for the site's authority where the node has one. The node stays the same to its peers; links stay."
        ],
        examples: [CommandExample("kith cert install laptop.pem", "after kith cert request and the authority's answer")]
    )

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let bytes = try InputFile(path: arguments.positional(0) ?? "").readAll(bytesMax: TrustLimits.pemFileBytesMax)
        let body: JSONValue = ["certificate": .string(String(decoding: bytes, as: UTF8.self))]
        let value = try context.withNode { client in
            try client.json(NodeRequest("POST", ["_kith", "certificate"], body: body.canonicalBytes()))
        } orHome: { home in
            try home.installCertificate(bytes)
        }
        let console = context.console
        if arguments.has("json") {
            try console.print(value.canonicalText())
        } else {
            let end = (value["validThrough"]?.stringValue).flatMap(Instant.init(parsing:))
            let until = end.map { " It is valid until \(Moment.current.tellPoint($0))." } ?? ""
            try console.print("\(StatusMarks.good(console.style)) The certificate is in place.\(until)")
        }
        return ExitStatus.success
    }
}
