import KithDocuments
import KithTransport

/// Serves the administration socket: HTTP on a Unix socket that only the home's owner can open.
@LoopActor
final class AdministrationServer {
    private unowned let node: Node
    private var listener: Listener?
    private var connections: [ObjectIdentifier: AdministrationConnection] = [:]
    private var allDone = ChangeSignal()

    init(node: Node) throws(KithError) {
        self.node = node
        listener = try Listener.unix(UnixSocketAddress(path: node.home.socketPath)) { [weak self] connection in
            self?.accept(connection)
        }
    }

    private func accept(_ connection: Connection) {
        let served = AdministrationConnection(connection, router: RESTRouter(node: node))
        let key = ObjectIdentifier(served)
        connections[key] = served
        served.onDone = { [weak self] in
            self?.connections[key] = nil
            self?.allDone.signal()
        }
        served.start()
    }

    /// Stops accepting, lets requests under way finish for a moment, then closes.
    func stop() async {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.finishSoon() }
        let deadline = EventLoop.monotonicNanoseconds + UInt64(NodeLimits.stopSecondsMax / 2 * 1e9)
        while !connections.isEmpty, EventLoop.monotonicNanoseconds < deadline {
            await allDone.wait(secondsMax: 0.1)
        }
        for connection in connections.values { connection.cut() }
    }
}
