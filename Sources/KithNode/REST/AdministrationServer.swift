import KithDocuments
import KithTransport
import KithTrust

/// Serves administration: HTTP on a Unix socket that only the home's owner can open, and, where it is switched on, over
/// TLS on the loopback addresses, to whoever holds the node's own key, and to users for what they may do.
@LoopActor
final class AdministrationServer {
    private unowned let node: Node
    private var listeners: [Listener] = []
    private let connections = RESTConnections()
    private let budget = RESTBodyBudget()
    /// The port on the loopback, where there is one.
    private(set) var port: UInt16?

    /// - Parameters:
    ///   - port: of the loopback; 0 takes a free one, nil none.
    ///   - identity: what is shown there.
    init(node: Node, port: UInt16?, identity: TLSIdentity) throws(KithError) {
        self.node = node
        if let port { try listen(port, identity) }
        do {
            listeners.append(
                try Listener.unix(UnixSocketAddress(path: node.home.socketPath)) { [weak self] connection in
                    self?.accept(connection, RESTGate(door: .socket, caller: .owner))
                })
        } catch {
            for listener in listeners { listener.close() }
            throw error
        }
    }

    /// Listens on 127.0.0.1 and, where this machine has it, on ::1, under the same port.
    private func listen(_ port: UInt16, _ identity: TLSIdentity) throws(KithError) {
        let context = try context(identity)
        let first = try listener(.loopback(port: port), context)
        listeners.append(first)
        let taken = first.localAddress?.port ?? port
        self.port = taken
        do {
            listeners.append(try listener(SocketAddress(host: "::1", port: taken), context))
        } catch  where error.code == .portBusy {
            // Another program would get what is meant for this node.
            first.close()
            throw error
        } catch {
            node.log("administration is not served on [::1]: \(error.message)")
        }
    }

    private func listener(_ address: SocketAddress, _ context: TLSContext) throws(KithError) -> Listener {
        let listener = try Listener.tcp(address, tls: context) { [weak self] connection in
            guard let self else { return connection.abort() }
            let own = node.home.identity.nodeID
            let isOwn = connection.info?.peer.map { NodeID(subjectPublicKeyHash: $0.publicKeyHash) } == own
            accept(connection, RESTGate(door: .administration, caller: isOwn ? .ownKey : .nobody))
        }
        listener.onRefused = { [weak self] refused in
            self?.node.log.aboutStranger(
                "\(refused.remoteName)  refused at administration: \(refused.error.message)",
                key: "administration \(refused.error.code)")
        }
        return listener
    }

    /// Takes the node's own key, and who shows none; the key of a peer has nothing to do here.
    private func context(_ identity: TLSIdentity) throws(KithError) -> TLSContext {
        let own = identity.peerView.publicKeyHash
        return try TLSContext.server(
            identity: identity,
            verify: { certificate in
                if certificate.publicKeyHash == own { return .trusted }
                return .refused(
                    KithError(.notTrusted, "the certificate is not that of this node"))
            }, takesNoCertificate: true)
    }

    /// Shows another certificate from now on.
    func use(_ identity: TLSIdentity) throws(KithError) {
        let context = try context(identity)
        for listener in listeners where listener.tls != nil { listener.tls = context }
    }

    /// Rights of users have changed.
    func rightsChanged(by exchange: RESTExchange?) { connections.rightsChanged(by: exchange) }

    /// Cuts what is under way with a database.
    func cut(database: DatabaseName) { connections.cut { $0.isUnderWay(with: database) } }

    private func accept(_ connection: Connection, _ gate: RESTGate) {
        // All that have proved nothing come from this machine: who holds places makes room, and the socket is another's.
        guard gate.isOwners || connections.makeRoom() else { return connection.abort() }
        connections.serve(
            RESTConnection(connection, router: RESTRouter(node: node), gate: gate, access: node.access, budget: budget))
    }

    /// Stops accepting, lets requests under way finish for a moment, then closes.
    func stop() async {
        for listener in listeners { listener.close() }
        listeners = []
        await connections.stop()
    }
}
