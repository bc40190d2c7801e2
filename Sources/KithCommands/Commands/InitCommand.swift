import Glibc
import KithDocuments
import KithNode

/// `kith init`
enum InitCommand: Command {
    static let spec = CommandSpec(
        "init", summary: "make this machine a node: its folder, key and certificate",
        options: [
            OptionSpec("name", value: .required("NAME"), help: "what people call the node (else the host's name)"),
            OptionSpec("port", value: .required("PORT"), help: "the TCP port on which peers reach it (else 4984)"),
            OptionSpec(
                "ca", value: .required("FILE"),
                help: "the certificate of the site's own authority, whose nodes are trusted"),
            OptionSpec("crl", value: .required("FILE"), help: "with --ca: its revocation list"),
            OptionSpec("certificate", value: .required("FILE"), help: "with --ca and --key: the node's certificate"),
            OptionSpec("key", value: .required("FILE"), help: "with --ca: the node's key, else it makes its own"),
            OptionSpec(
                "grant", value: .required("DB=ACCESS"), isRepeatable: true,
                help: "with --ca: what nodes of the site may do: both, read or write; * for all other databases"),
        ],
        details: [
            "Everything is made in the node's home, which only its owner can enter. A home that is there already is left as it is.",
            "With --ca nodes that the authority has signed are trusted without pairing. What they may do is what --grant says, which is nothing without it. Unless --key and --certificate are given, the node makes its own key, and kith cert request what the authority is to sign.",
        ],
        examples: [
            CommandExample("kith init --name kitchen-pi", "makes a node of this name"),
            CommandExample("kith init --home /srv/kith --port 5000", "the same in another folder, on another port"),
            CommandExample("kith init --ca ca.pem --grant notes=both", "makes a node of a site"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let port = try arguments.value("port").map(NumberArgument.port)
        let node = try context.homes.create(
            context.homePath, arguments.value("name") ?? hostName(), port, try site(arguments))
        let console = context.console
        try console.print(
            "\(StatusMarks.good(console.style)) \(node.shown)   is a node now, in \(DisplayText.safe(context.homePath))"
        )
        try console.print("    Run it                  kith up")
        try console.print("    Its ID, for its peers   kith id")
        return ExitStatus.success
    }

    private static func site(_ arguments: ParsedArguments) throws -> SiteSetup? {
        guard let authority = arguments.value("ca") else {
            for option in ["crl", "certificate", "key", "grant"] where arguments.has(option) {
                throw UsageError("--\(option) is for a node of a site", hint: "Give --ca FILE as well")
            }
            return nil
        }
        guard arguments.has("certificate") == arguments.has("key") else {
            throw UsageError("--certificate and --key belong together")
        }
        var setup = SiteSetup(authorityPath: authority)
        setup.listPath = arguments.value("crl")
        setup.certificatePath = arguments.value("certificate")
        setup.keyPath = arguments.value("key")
        for text in arguments.values("grant") {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2 else { throw UsageError("--grant needs DB=ACCESS", hint: "Such as notes=read") }
            try setup.grants.add(parts[0], parts[1])
        }
        return setup
    }

    /// The host's name up to the first dot, when it is one that a node may have.
    private static func hostName() -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let result = buffer.withUnsafeMutableBytes {
            gethostname($0.baseAddress!.assumingMemoryBound(to: CChar.self), 255)
        }
        guard result == 0 else { return "node" }
        let name = String(decoding: buffer.prefix { $0 != 0 && $0 != UInt8(ascii: ".") }, as: UTF8.self)
        return name.isEmpty ? "node" : name
    }
}
