import KithDocuments
import KithStore
import Testing

/// Stores that merge by themselves and pass on what they have, in any order.
@Suite("Store: nodes that merge")
struct MergeMeshTests {
    private static let names = ["a", "b", "c"]

    /// Stores that exchange leaves as nodes do, and what was written on them.
    private struct Mesh {
        let stores: [Database]
        var random: SeededGenerator
        /// Fields that some edit has added to a document, on any store.
        var written: [String: Set<String>] = [:]
        var editCount = 0

        init(_ count: Int, seed: UInt64) throws {
            random = SeededGenerator(state: seed)
            stores = try (0..<count).map { _ in
                let database = try memoryDatabase()
                try database.writeBlocking { try $0.setSettings(DatabaseSettings(mergePolicy: .threeWay)) }
                return database
            }
        }

        mutating func pick() -> Int { Int.random(in: stores.indices, using: &random) }

        /// Writes a field of its own, and one that all write; now and then makes a conflict on the same store.
        mutating func edit(_ store: Int, _ name: String) throws {
            editCount += 1
            let field = "edit\(editCount)"
            written[name, default: []].insert(field)
            let number = editCount
            let branches = Int.random(in: 0..<4, using: &random) == 0
            try stores[store].writeBlocking { transaction in
                guard let now = try transaction.document(id(name)) else {
                    _ = try transaction.put(id(name), body: bytes(#"{"\#(field)":1,"all":\#(number)}"#), parent: nil)
                    return
                }
                var body = try JSONValue(parsing: now.body)
                body[field] = 1
                body["all"] = JSONValue(number)
                let leaf = branches ? now.leaves.last { !$0.isDeleted }?.revision : nil
                guard let leaf, let other = try transaction.document(id(name), revision: leaf) else {
                    _ = try transaction.put(id(name), body: body.canonicalBytes(), parent: now.revision)
                    return
                }
                body = try JSONValue(parsing: other.body)
                body[field] = 1
                _ = try transaction.put(id(name), body: body.canonicalBytes(), parent: leaf)
            }
        }

        /// Passes leaves of a document on, all or one of them.
        ///
        /// - Returns: whether anything was new.
        @discardableResult
        mutating func pass(_ name: String, from: Int, to: Int, all: Bool) throws -> Bool {
            guard let document = try stores[from].read({ try $0.document(id(name)) }) else { return false }
            let leaves = all ? document.leaves : [document.leaves.randomElement(using: &random)!]
            var isNew = false
            for leaf in leaves {
                let known = try stores[to].read { try $0.lookup([(id(name), leaf.revision)])[0] }
                guard case .missing(let ancestors) = known else { continue }
                let sent = try #require(
                    try stores[from].read {
                        try $0.revisionForTransfer(id(name), leaf.revision, knowing: ancestors)
                    })
                let revision = IncomingRevision(
                    id: sent.id, revision: sent.revision, history: sent.history, isDeleted: sent.isDeleted,
                    body: sent.body)
                let outcome = try stores[to].writeBlocking { try $0.insert(revision) }
                if case .inserted = outcome { isNew = true }
            }
            return isNew
        }

        func digests() throws -> Set<String> { Set(try stores.map { try $0.read { try $0.digest().hex } }) }

        /// All have the same, nothing is in conflict, and no field of any edit is lost.
        func expectConverged(_ label: String) throws {
            #expect(try digests().count == 1, "\(label)")
            for store in stores {
                #expect(try store.read { try $0.conflictCount } == 0, "\(label)")
                #expect(try store.findFaults() == [], "\(label)")
            }
            for (name, fields) in written {
                let document = try #require(try stores[0].read { try $0.document(id(name)) })
                let body = try JSONValue(parsing: document.body)
                #expect(Set(body.objectValue?.map(\.name) ?? []) == fields.union(["all"]), "\(label): \(name)")
            }
        }
    }

    @Test("in any order of edits, exchanges and merges, nothing is lost and all end with the same", arguments: 0..<60)
    func anyOrder(seed: UInt64) throws {
        var mesh = try Mesh(2 + Int(seed % 3), seed: seed)
        for _ in 0..<60 {
            let (store, other) = (mesh.pick(), mesh.pick())
            let name = Self.names.randomElement(using: &mesh.random)!
            switch Int.random(in: 0..<6, using: &mesh.random) {
            case 0...1: try mesh.edit(store, name)
            case 2: try mesh.pass(name, from: store, to: other, all: true)
            case 3...4: try mesh.pass(name, from: store, to: other, all: false)
            default: try mesh.stores[store].mergeConflicts()
            }
        }
        var rounds = 0
        while true {
            rounds += 1
            try #require(rounds < 40, "merges go on for ever")
            var isNew = false
            for name in Self.names {
                for from in mesh.stores.indices.shuffled(using: &mesh.random) {
                    for to in mesh.stores.indices.shuffled(using: &mesh.random) where to != from {
                        if try mesh.pass(name, from: from, to: to, all: true) { isNew = true }
                        if Bool.random(using: &mesh.random) { try mesh.stores[to].mergeConflicts() }
                    }
                }
            }
            for store in mesh.stores where try store.mergeConflicts() > 0 { isNew = true }
            if !isNew { break }
        }
        try mesh.expectConverged("seed \(seed)")
    }

    @Test(
        "nodes that always merge at the same moment, and each with its neighbour only, come to an end",
        arguments: 0..<40)
    func inStep(seed: UInt64) throws {
        var mesh = try Mesh(5, seed: seed)
        for _ in 0..<3 { for store in mesh.stores.indices { try mesh.edit(store, "a") } }
        var rounds = 0
        while true {
            rounds += 1
            try #require(rounds < 100, "merges go on for ever")
            // What each has before anybody has heard of the others.
            let before = try mesh.stores.map { try $0.read { try $0.document(id("a"))?.leaves ?? [] } }
            var sent: [[IncomingRevision]] = []
            for (store, leaves) in zip(mesh.stores, before) {
                sent.append(
                    try leaves.compactMap { leaf in
                        try store.read { try $0.revisionForTransfer(id("a"), leaf.revision) }.map {
                            IncomingRevision(
                                id: $0.id, revision: $0.revision, history: $0.history, isDeleted: $0.isDeleted,
                                body: $0.body)
                        }
                    })
            }
            var isNew = false
            for (index, store) in mesh.stores.enumerated() {
                let revisions = sent[(index + 1) % sent.count]
                let outcomes = try store.writeBlocking { transaction in try revisions.map { try transaction.insert($0) }
                }
                if outcomes.contains(where: { if case .inserted = $0 { true } else { false } }) { isNew = true }
            }
            for store in mesh.stores where try store.mergeConflicts() > 0 { isNew = true }
            if !isNew { break }
        }
        try mesh.expectConverged("seed \(seed)")
    }
}
