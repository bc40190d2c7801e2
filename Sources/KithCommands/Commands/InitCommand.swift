import Glibc
import KithDocuments

/// `kith init`
enum InitCommand: Command {
    static let spec = CommandSpec(
        "init", summary: "make this machine a node: its folder, key and certificate",
        options: [
            OptionSpec("name", value: .required("NAME"), help: "what people call the node (else the host's name)"),
            OptionSpec("port", value: .required("PORT"), help: "the TCP port on which peers reach it (else 4984)"),
        ],
        details: [
            "Everything is made in the node's home, which only its owner can enter. A home that is there already is left as it is."
        ],
        examples: [
            CommandExample("kith init --name kitchen-pi", "makes a node of this name"),
            CommandExample("kith init --home /srv/kith --port 5000", "the same in another folder, on another port"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let port = try arguments.value("port").map(NumberArgument.port)
        let node = try context.homes.create(context.homePath, arguments.value("name") ?? hostName(), port)
        let console = context.console
        try console.print(
            "\(StatusMarks.good(console.style)) \(node.shown)   is a node now, in \(DisplayText.safe(context.homePath))"
        )
        try console.print("    Run it                  kith up")
        try console.print("    Its ID, for its peers   kith id")
        return ExitStatus.success
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
