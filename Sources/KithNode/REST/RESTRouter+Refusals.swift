import KithDocuments
import KithStore
import KithTransport
import KithTrust

extension RESTRouter {
    /// `/DATABASE/_explain?id=DOCUMENT`: why a document is, or is not, on each peer, or on the one that `peer` names.
    func explain(_ exchange: RESTExchange, _ name: KeyspaceName) async throws {
        let request = exchange.request
        guard let text = request.query["id"] else {
            throw KithError(.badRequest, "the document is missing", remedy: "Name it: ?id=DOCUMENT")
        }
        let peer = try request.query["peer"].map { name throws(KithError) in try node.home.peerBook.find(name).id }
        let answer = try await node.explain(
            try DocumentID(text), in: name.database, collection: name.collection, peer: peer)
        exchange.respond(HTTPAnswer(200, answer.json))
    }

    /// `/DATABASE/_refusals`: documents that did not get to a peer or from it, the last first.
    func refusals(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let limit = min(try exchange.request.integer("limit") ?? 100, StoreLimits.refusalsMax)
        let collection = keyspace.collection
        let refusals = try await keyspace.database.read { snapshot in
            // Those of a database are those of all its collections.
            let all = try snapshot.refusals(limit: StoreLimits.refusalsMax).filter {
                collection == .default || $0.key.collection == collection
            }.prefix(limit)
            let obsolete = Set(try snapshot.obsolete(Array(all)))
            return all.filter { !obsolete.contains($0.key) }
        }
        let rows = refusals.map { refusal -> JSONValue in
            var row = refusal.json
            let peer = try? NodeID(parsing: refusal.key.peer)
            row["peer"] = .string(peer.flatMap { node.home.peerBook.peer($0)?.name } ?? refusal.key.peer)
            return row
        }
        exchange.respond(HTTPAnswer(200, JSONValue(object: [("rows", .array(rows))])))
    }
}
