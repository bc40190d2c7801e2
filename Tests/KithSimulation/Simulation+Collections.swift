import KithDocuments
import KithStore

// In which collections documents are.

extension Simulation {
    /// The collection of a document, which follows from its ID, so that nobody needs to say it.
    func collection(of id: DocumentID) -> CollectionName {
        let number = Int(id.text.drop { !$0.isNumber }) ?? 0
        return collections[number % collections.count]
    }

    /// What a node knows of these revisions, each in its collection.
    func lookup(_ names: [(DocumentID, RevisionID)], on node: SimulatedNode) throws -> [RevisionLookup] {
        var result = [RevisionLookup](repeating: .missing(ancestors: []), count: names.count)
        try node.database.read { snapshot in
            for collection in collections where try snapshot.hasCollection(collection) {
                let chosen = names.indices.filter { self.collection(of: names[$0].0) == collection }
                guard !chosen.isEmpty else { continue }
                let found = try snapshot.collection(collection).lookup(chosen.map { names[$0] })
                for (index, one) in zip(chosen, found) { result[index] = one }
            }
        }
        return result
    }

    /// A document on a node.
    func document(_ id: DocumentID, on node: SimulatedNode) throws -> StoredDocument? {
        let name = collection(of: id)
        return try node.database.read { snapshot in
            try snapshot.hasCollection(name) ? snapshot.collection(name).document(id) : nil
        }
    }

    /// Drops a collection on this node alone, with all that is in it. It comes back, as purged documents do.
    func dropCollection(on node: SimulatedNode) throws {
        guard let name = collections.dropFirst().randomElement(using: &random) else { return }
        let isGone = try node.database.writeBlocking { transaction -> Bool in
            guard try transaction.hasCollection(name) else { return false }
            try transaction.dropCollection(name)
            return true
        }
        guard isGone else { return }
        note("node \(node.index) drops the collection \(name)")
        for number in 0..<configuration.documentCount {
            let id = try DocumentID("visit-\(number)")
            if collection(of: id) == name { purged.insert(id) }
        }
        noticeSoon(node)
    }
}
