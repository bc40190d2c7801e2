import KithDocuments
import KithTransport
import KithTrust
import KithWire

/// Serves REST on the port of replication, where that is switched on: to users, to paired nodes by their certificates, and to
/// guests if they are let in. Nothing of administration is served here.
@LoopActor
final class PublicServer {
    private unowned let node: Node
    let settings: PublicRESTSettings
    private let connections = RESTConnections()
    private let budget = RESTBodyBudget()

    init(node: Node, settings: PublicRESTSettings) {
        self.node = node
        self.settings = settings
    }

    /// Serves a connection.
    ///
    /// - Parameters:
    ///   - caller: whom it proves.
    ///   - head: a request whose head was read already, with what has read it.
    func accept(
        _ connection: Connection, as caller: RESTCaller, head: (head: HTTPRequestHead, parser: HTTPRequestParser)? = nil
    ) {
        let place = ClientPlace(connection.info?.remoteAddress)
        var hasRoom = true
        if caller == .nobody { hasRoom = connections.makeRoom(for: place) }
        if case .peer(let id) = caller { hasRoom = connections.makeRoom(for: id) }
        guard hasRoom else {
            node.log.aboutStranger("\(place.host)  has too many connections", key: "REST connections \(place.host)")
            let error = CouchDBError(
                "too_many_connections", status: 503,
                KithError(.busy, "there are too many connections from this address", remedy: "Try again in a moment"),
                headers: [("Retry-After", "10")])
            connection.write(HTTPAnswer.error(error).bytes(keepsAlive: false))
            return connection.close()
        }
        let served = RESTConnection(
            connection, router: RESTRouter(node: node),
            gate: RESTGate(door: .network, caller: caller, crossOrigin: settings.crossOrigin), access: node.access,
            budget: budget)
        connections.serve(served) { $0.start(with: head) }
    }

    /// Cuts what is under way with a database.
    func cut(database: DatabaseName) { connections.cut { $0.isUnderWay(with: database) } }

    /// Rights of users have changed.
    func rightsChanged(by exchange: RESTExchange?) { connections.rightsChanged(by: exchange) }

    /// Cuts what a peer has open; with nil what any has.
    func cut(peer: NodeID?) {
        connections.cut { connection in
            guard case .peer(let id) = connection.gate.caller else { return false }
            return peer == nil || id == peer
        }
    }

    func stop() async { await connections.stop() }
}
