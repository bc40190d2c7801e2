import Glibc
import KithDocuments

/// `kith up`
enum UpCommand: Command {
    static let spec = CommandSpec(
        "up", summary: "run the node, in the foreground",
        options: [
            OptionSpec(
                "peer", value: .required("HOST:PORT"), isRepeatable: true,
                help: "also look for a peer at this address; may be given more than once"),
            OptionSpec("port", value: .required("PORT"), help: "listen on this port; 0 lets the system choose"),
            OptionSpec("listen", value: .required("ADDRESS"), help: "listen on this address only"),
            OptionSpec(
                "admin-port", value: .required("PORT"),
                help: "also serve administration over TLS on this port of localhost; 0 lets the system choose"),
            OptionSpec("rest", help: "also serve REST to users and peers on the port of replication"),
            OptionSpec("no-discovery", help: "neither publish the node on the network nor look for others"),
            OptionSpec("name", value: .required("NAME"), help: "be seen under this name"),
        ],
        details: [
            "Prints one line for each event to the standard error. Ends by Ctrl-C or SIGTERM within five seconds, and nothing that was acknowledged is lost however it ends."
        ],
        examples: [
            CommandExample("kith up", "runs this machine's node"),
            CommandExample("kith up --no-discovery --peer 192.168.1.20:4984", "reaches a peer without mDNS"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) async throws -> Int32 {
        var options = NodeRunner.Options()
        options.port = try arguments.value("port").map(NumberArgument.port)
        options.listen = arguments.value("listen")
        options.administrationPort = try arguments.value("admin-port").map(NumberArgument.port)
        options.servesREST = arguments.has("rest")
        options.peers = arguments.values("peer")
        options.name = arguments.value("name")
        options.discovers = !arguments.has("no-discovery")
        for peer in options.peers { try check(peer: peer) }
        // The journal has its own time.
        let showsTime = context.environment["JOURNAL_STREAM"] == nil
        try await context.runner.run(context.homePath, options) { line in
            let time = showsTime ? LocalTime.inSystemZone(.now).dayAndClock + "  " : ""
            try? DescriptorSink(STDERR_FILENO).write((time + line + "\n").utf8)
        }
        return ExitStatus.success
    }

    private static func check(peer: String) throws(UsageError) {
        let bytes = peer.utf8
        if let colon = bytes.lastIndex(of: UInt8(ascii: ":")), colon != bytes.startIndex {
            let port = String(peer[bytes.index(after: colon)...])
            if NumberArgument.isDigits(port), let number = UInt16(port), number > 0 { return }
        }
        throw UsageError(
            "“\(DisplayText.safe(peer))” is not an address of a peer",
            hint: "Type it like 192.168.1.20:4984, [fe80::1%eth0]:4984 or pi.local:4984")
    }
}
