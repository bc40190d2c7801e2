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
    /// Open connections of strangers by where they are, and of peers by who they are.
    private var counts: [String: Int] = [:]
    private var strangerCount = 0

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
        let isStranger = caller == .nobody
        let place = connection.info?.remoteAddress?.hostNetwork ?? ""
        var key = place
        if case .peer(let id) = caller { key = id.description }
        guard counts[key, default: 0] < NodeLimits.networkConnectionsPerCallerMax,
            !isStranger || strangerCount < NodeLimits.strangerConnectionsMax
        else {
            node.log.aboutStranger("\(place)  has too many connections", key: "REST connections \(place)")
            return connection.abort()
        }
        counts[key, default: 0] += 1
        if isStranger { strangerCount += 1 }
        let served = RESTConnection(
            connection, router: RESTRouter(node: node),
            gate: RESTGate(door: .network, caller: caller, crossOrigin: settings.crossOrigin), access: node.access,
            budget: budget)
        connections.serve(served, begin: { $0.start(with: head) }) { [weak self] in
            guard let self else { return }
            counts[key, default: 1] -= 1
            if counts[key] == 0 { counts[key] = nil }
            if isStranger { strangerCount -= 1 }
        }
    }

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
