import KithDocuments
import KithTransport
import KithTrust

/// The connections of one server of REST that are open.
@LoopActor
final class RESTConnections {
    private var connections: [ObjectIdentifier: RESTConnection] = [:]
    private var served: UInt64 = 0
    private let someDone = ChangeSignal()

    /// Takes one, and lets it begin.
    ///
    /// - Parameters:
    ///   - begin: what it begins with.
    func serve(_ connection: RESTConnection, begin: (RESTConnection) -> Void = { $0.start() }) {
        let key = ObjectIdentifier(connection)
        served += 1
        connection.number = served
        connections[key] = connection
        connection.hasRoom = { [weak self] in self?.hasRoom(for: $0) ?? false }
        connection.onDone = { [weak self] in
            self?.connections[key] = nil
            self?.someDone.signal()
        }
        begin(connection)
    }

    /// Whether one more may come from a place where nobody has proved anything. Where all have too many, the oldest that has nothing
    /// under way is cut for it: who only holds a place makes room.
    func makeRoom(for place: ClientPlace) -> Bool {
        let strangers = self.strangers
        guard strangers.count(where: { $0.place.host == place.host }) < NodeLimits.networkConnectionsPerCallerMax,
            strangers.count(where: { $0.place.network == place.network }) < NodeLimits.networkConnectionsMax
        else { return false }
        return makeRoomForAnybody(strangers)
    }

    /// The same where all come from one place.
    func makeRoom() -> Bool { makeRoomForAnybody(strangers) }

    private var strangers: [RESTConnection] { connections.values.filter { $0.isStranger && !$0.isCut } }

    private func makeRoomForAnybody(_ strangers: [RESTConnection]) -> Bool {
        guard strangers.count >= NodeLimits.strangerConnectionsMax else { return true }
        guard let oldest = strangers.filter({ !$0.isUnderWay }).min(by: { $0.number < $1.number }) else { return false }
        oldest.cut()
        return true
    }

    /// Whether a peer may open one more.
    func makeRoom(for peer: NodeID) -> Bool {
        connections.values.count(where: { $0.gate.caller == .peer(peer) }) < NodeLimits.networkConnectionsPerCallerMax
    }

    /// Whether a user who has logged in on a connection has not too many.
    private func hasRoom(for connection: RESTConnection) -> Bool {
        guard let name = connection.user else { return true }
        let count = connections.values.count(where: { other in
            guard other !== connection, let user = other.user else { return false }
            return user.utf8.elementsEqual(name.utf8)
        })
        return count < NodeLimits.connectionsPerUserMax
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
