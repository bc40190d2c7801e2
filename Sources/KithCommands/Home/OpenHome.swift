import KithDocuments
import KithNode
import KithTrust

/// The home of a node that does not run.
struct OpenHome: LocalHome {
    private let home: NodeHome

    init(_ home: NodeHome) { self.home = home }

    var node: KnownNode {
        let id = home.identity.nodeID
        return KnownNode(name: home.configuration.name, id: id.description, short: id.short)
    }

    func trust(_ id: NodeID, name: String?) throws -> KnownNode {
        // Held until the book is written, so that no node starts with the one before.
        let lock = try home.lock()
        defer { withExtendedLifetime(lock) {} }
        let peer = try home.peerBook.add(id, name: name ?? home.peerBook.peer(id)?.name ?? id.short, method: .id)
        return Self.known(peer)
    }

    func untrust(_ nameOrID: String) throws -> KnownNode {
        let lock = try home.lock()
        defer { withExtendedLifetime(lock) {} }
        return Self.known(try home.peerBook.remove(try home.peerBook.find(nameOrID, isRevoked: true).id))
    }

    func renewCertificate() throws -> JSONValue {
        try home.renewCertificate()
        return home.certificateJSON
    }

    func certificateRequest() throws -> [UInt8] { try home.certificateRequest() }

    func installCertificate(_ certificate: [UInt8]) throws -> JSONValue {
        try home.installCertificate(certificate)
        return home.certificateJSON
    }

    func rotateKey() throws -> KnownNode {
        let id = try home.rotateKey()
        return KnownNode(name: home.configuration.name, id: id.description, short: id.short)
    }

    private static func known(_ peer: Peer) -> KnownNode {
        KnownNode(name: peer.name, id: peer.id.description, short: peer.id.short)
    }
}
