import KithDocuments
import KithStore
import KithTransport

extension RESTRouter {
    /// `POST /DATABASE/_revs_diff`: which of some revisions are not here, and what they may descend from.
    func revisionsDifference(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let missing = try await lookForRevisions(exchange, keyspace)
        let answer = missing.map { (id, revisions, ancestors) -> (String, JSONValue) in
            var members: [(String, JSONValue)] = [("missing", .array(revisions.map { .string($0) }))]
            if !ancestors.isEmpty {
                members.append(("possible_ancestors", .array(ancestors.map { .string($0.description) })))
            }
            return (id, JSONValue(object: members))
        }
        exchange.respond(HTTPAnswer(200, JSONValue(object: answer)))
    }

    /// `POST /DATABASE/_missing_revs`: the same without ancestors.
    func missingRevisions(_ exchange: RESTExchange, _ keyspace: Keyspace) async throws {
        let missing = try await lookForRevisions(exchange, keyspace)
        let answer = missing.map { ($0.id, JSONValue.array($0.revisions.map { .string($0) })) }
        exchange.respond(HTTPAnswer(200, JSONValue(object: [("missing_revs", JSONValue(object: answer))])))
    }

    private func lookForRevisions(
        _ exchange: RESTExchange, _ keyspace: Keyspace
    ) async throws -> [(id: String, revisions: [String], ancestors: [RevisionID])] {
        let asked = try exchange.request.jsonObject().map { id, value throws(KithError) in
            guard let items = value.arrayValue else {
                throw KithError(.badRequest, "the revisions of a document must be a list")
            }
            return (
                id,
                try items.map { item throws(KithError) in
                    guard let text = item.stringValue else {
                        throw KithError(.badRequest, "a revision must be a text")
                    }
                    return text
                }
            )
        }
        return try await keyspace.read { snapshot in
            var answer: [(id: String, revisions: [String], ancestors: [RevisionID])] = []
            for (id, texts) in asked {
                var missing: [String] = []
                var ancestors: [RevisionID] = []
                for text in texts {
                    // What cannot be a document here is missing, so that the one that sends it learns why by sending it.
                    guard let documentID = try? DocumentID(id), let revision = try? RevisionID(parsing: text),
                        let found = try snapshot.lookup([(documentID, revision)]).first
                    else {
                        missing.append(text)
                        continue
                    }
                    guard case .missing(let possible) = found else { continue }
                    missing.append(text)
                    for one in possible where !ancestors.contains(one) { ancestors.append(one) }
                }
                if !missing.isEmpty { answer.append((id, missing, ancestors)) }
            }
            return answer
        }
    }
}
