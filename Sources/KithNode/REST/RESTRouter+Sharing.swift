import KithDocuments
import KithTransport
import KithTrust

extension RESTRouter {
    /// `PUT /_kith/peers/PEER/sharing`: how databases are shared with it, or the one that `database` names. Members that are not
    /// there stay as they are; `null` takes back what was said.
    func sharing(_ exchange: RESTExchange, _ peer: String) throws {
        let request = exchange.request
        try allow(request, "PUT")
        let id = try node.home.peerBook.find(peer).id
        guard let members = try JSONValue(parsing: request.body).objectValue else {
            throw KithError(.badRequest, "the body must be a JSON object")
        }
        var database: DatabaseName?
        var changes: [(inout PeerSharing) -> Void] = []
        for (name, value) in members {
            let text = value.stringValue
            switch name {
            case "database":
                guard let text else { throw KithError(.badRequest, "database must be a text") }
                database = try DatabaseName(text)
            case "access":
                let access = text.flatMap(PeerAccess.init)
                guard access != nil || value == .null else {
                    throw Self.wrong(name, PeerAccess.allCases.map(\.rawValue))
                }
                changes.append { $0.access = access }
            case "replication":
                let replication = text.flatMap(PeerReplication.init)
                guard replication != nil || value == .null else {
                    throw Self.wrong(name, PeerReplication.allCases.map(\.rawValue))
                }
                changes.append { $0.replication = replication }
            default:
                throw KithError(
                    .badRequest, "there is no setting \"\(name.prefix(100))\" of a peer",
                    remedy: "There are access and replication")
            }
        }
        let now = try node.setSharing(with: id, of: database) { sharing in for change in changes { change(&sharing) } }
        exchange.respond(HTTPAnswer(200, json(now)))
    }

    private static func wrong(_ name: String, _ values: [String]) -> KithError {
        KithError(.badRequest, "\(name) must be one of: \(values.joined(separator: ", "))")
    }
}
