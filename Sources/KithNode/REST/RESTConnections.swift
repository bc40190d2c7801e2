import KithTransport

/// The connections of one server of REST that are open.
@LoopActor
final class RESTConnections {
    private var connections: [ObjectIdentifier: RESTConnection] = [:]
    private let someDone = ChangeSignal()

    /// Takes one, and lets it begin.
    ///
    /// - Parameters:
    ///   - begin: what it begins with.
    ///   - onDone: called once, when it is gone.
    func serve(
        _ connection: RESTConnection, begin: (RESTConnection) -> Void = { $0.start() }, onDone: (() -> Void)? = nil
    ) {
        let key = ObjectIdentifier(connection)
        connections[key] = connection
        connection.onDone = { [weak self] in
            self?.connections[key] = nil
            self?.someDone.signal()
            onDone?()
        }
        begin(connection)
    }

    /// Rights of users have changed: what is under way for others than the owner is cut, but for what has changed them.
    func rightsChanged(by exchange: RESTExchange?) {
        for connection in connections.values { connection.rightsChanged(by: exchange) }
    }

    /// Cuts all that the closure says.
    func cut(where isMeant: (RESTConnection) -> Bool) {
        for connection in connections.values where isMeant(connection) { connection.cut() }
    }

    /// Lets requests under way finish for a moment, then closes.
    func stop() async {
        for connection in connections.values { connection.finishSoon() }
        let deadline = EventLoop.monotonicNanoseconds + UInt64(NodeLimits.stopSecondsMax / 2 * 1e9)
        while !connections.isEmpty, EventLoop.monotonicNanoseconds < deadline {
            await someDone.wait(secondsMax: 0.1)
        }
        for connection in connections.values { connection.cut() }
    }
}
