import Glibc
import KithDocuments
import KithNode
import KithTransport

extension NodeRunner {
    /// Runs the node of a home in this process until SIGINT or SIGTERM; a second one ends the process at once.
    static let system = NodeRunner { homePath, options, log in
        let home = try NodeHome.open(at: homePath)
        var nodeOptions = NodeOptions()
        nodeOptions.port = options.port
        nodeOptions.listen = options.listen
        nodeOptions.administrationPort = options.administrationPort
        nodeOptions.servesREST = options.servesREST
        nodeOptions.peers = options.peers
        nodeOptions.name = options.name
        nodeOptions.discovers = options.discovers
        nodeOptions.log = log
        // Before the node: a signal while it starts ends it too.
        let signals = try await catchSignals()
        let node = try await Node.start(home: home, options: nodeOptions)
        var iterator = signals.makeAsyncIterator()
        _ = await iterator.next()
        let second = Task {
            for await number in signals { _exit(128 + number) }
        }
        await node.stop()
        second.cancel()
    }

    @LoopActor
    private static func catchSignals() throws -> AsyncStream<Int32> {
        let (stream, continuation) = AsyncStream<Int32>.makeStream()
        for number in [SIGINT, SIGTERM] {
            try EventLoop.shared.onSignal(number) { continuation.yield(number) }
        }
        return stream
    }
}
