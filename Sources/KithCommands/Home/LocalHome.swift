import KithDocuments
import KithTrust

/// A home whose node does not run, as far as commands read and change it.
protocol LocalHome {
    var node: KnownNode { get }

    /// Trusts a node, or changes its name.
    func trust(_ id: NodeID, name: String?) throws -> KnownNode

    /// Forgets a node, found by its name or ID.
    func untrust(_ nameOrID: String) throws -> KnownNode

    /// Makes a new certificate; what is told of it, as the node tells it.
    func renewCertificate() throws -> JSONValue

    /// What an authority is asked to sign, as PEM text.
    func certificateRequest() throws -> [UInt8]

    /// Puts a certificate in place; what is told of it, as the node tells it.
    func installCertificate(_ certificate: [UInt8]) throws -> JSONValue

    /// Makes a new key.
    func rotateKey() throws -> KnownNode
}
