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
                // What cannot be a document here is missing, so that the one that sends it learns why by sending it.
                guard let documentID = try? DocumentID(id) else {
                    if !texts.isEmpty { answer.append((id, texts, [])) }
                    continue
                }
                let revisions = texts.map { try? RevisionID(parsing: $0) }
                var found = try snapshot.lookup(revisions.compactMap { $0.map { (documentID, $0) } })[...]
                var missing: [String] = []
                var ancestors: [RevisionID] = []
                var seen: Set<RevisionID> = []
                for (text, revision) in zip(texts, revisions) {
                    guard revision != nil, let one = found.popFirst() else {
                        missing.append(text)
                        continue
                    }
                    guard case .missing(let possible) = one else { continue }
                    missing.append(text)
                    for one in possible where seen.insert(one).inserted { ancestors.append(one) }
                }
                // Of those attachments may be told as stubs, which are looked up in what is stored.
                if !ancestors.isEmpty, let tree = try snapshot.revisionTree(documentID) {
                    ancestors = ancestors.filter { tree[$0]?.hasBody ?? false }
                }
                if !missing.isEmpty { answer.append((id, missing, ancestors)) }
            }
            return answer
        }
    }
}
