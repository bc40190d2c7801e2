import KithDocuments
import KithReplication
import KithStore

// What the people at the nodes do.

extension Simulation {
    /// An edit as somebody wants it, whatever the document is like.
    private struct Edit {
        var id: DocumentID
        /// New values of properties; the others stay as they are.
        var values: [Int: Int]
        /// Padding; `nil` to leave it as it is.
        var text: String?
        var deletes: Bool
        /// Which of the live leaves is edited; `nil` for the winner.
        var leaf: Int?
        var change: SimulatedFiles.Change
        var file: Int
    }

    /// Somebody at a node does something.
    func act(on node: SimulatedNode) throws {
        guard node.isUp, !node.isDiskFull else { return }
        // Removes what is due, and blobs that nobody uses any more, while others may be about to read or use them.
        if random.chance(0.3) { try node.database.doHousekeeping() }
        if random.chance(configuration.resolveChance) { return try resolve(on: node) }
        if random.chance(configuration.purgeChance) { return try purge(on: node) }
        if random.chance(configuration.dropChance) { return try dropCollection(on: node) }
        if random.chance(configuration.expiryChance) { try setExpiry(on: node) }
        var edit = try drawEdit()
        try apply(edit, on: node)
        guard random.chance(configuration.tieChance) else { return }
        // Others edit the same document at the same time, perhaps in the same way.
        for other in nodes where other !== node && other.isUp && !other.isDiskFull && random.chance(0.5) {
            if random.chance(0.5) {
                let id = edit.id
                edit = try drawEdit()
                edit.id = id
            }
            try apply(edit, on: other)
        }
    }

    private func drawEdit() throws -> Edit {
        let isLarge = random.chance(configuration.largeDocumentChance)
        var values: [Int: Int] = [:]
        for property in 0..<Self.propertyCount where random.chance(0.4) { values[property] = random.int(0..<1_000) }
        let text =
            isLarge || random.chance(0.3)
            ? String(repeating: "ä", count: isLarge ? random.int(3_000..<70_000) : random.int(0..<40)) : nil
        return Edit(
            id: try drawID(), values: values, text: text, deletes: random.chance(0.15),
            leaf: random.chance(0.2) ? random.int(0..<1_000) : nil,
            change: random.chance(configuration.attachmentChance)
                ? SimulatedFiles.Change.allCases.randomElement(using: &random) ?? .keep : .keep,
            file: random.int(0..<files.count))
    }

    private func drawID() throws -> DocumentID {
        try DocumentID("visit-\(random.int(0..<configuration.documentCount))")
    }

    private func apply(_ edit: Edit, on node: SimulatedNode) throws {
        let files = self.files
        let collection = collection(of: edit.id)
        let written = try node.database.writeBlocking { whole -> RevisionID? in
            try whole.createCollection(collection)
            let transaction = try whole.collection(collection)
            let live = try transaction.document(edit.id)?.leaves.filter { !$0.isDeleted } ?? []
            let parent = live.isEmpty ? nil : live[(edit.leaf ?? 0) % live.count]
            if parent == nil, edit.deletes { return nil }
            let old = try parent.flatMap { try transaction.document(edit.id, revision: $0.revision) }
            let kept = old?.attachments
            return try transaction.put(
                edit.id, body: try Self.body(edit, over: old?.body), parent: parent?.revision, isDeleted: edit.deletes,
                attachments: try files.attachments(
                    edit.deletes ? .drop : edit.change, file: edit.file, kept: kept ?? AttachmentList(),
                    in: transaction)
            ).revision
        }
        if let written { acknowledge(RevisionName(id: edit.id, revision: written), on: node) }
    }

    /// Properties of a document, few enough that edits meet.
    private static let propertyCount = 4

    private static func body(_ edit: Edit, over old: [UInt8]?) throws -> [UInt8] {
        if edit.deletes { return Array("{}".utf8) }
        let old = try old.map { try JSONValue(parsing: $0) }
        var properties = (0..<propertyCount).map { property in
            "\"p\(property)\":\(edit.values[property].map(Int64.init) ?? old?["p\(property)"]?.int64Value ?? 0)"
        }
        properties.append("\"text\":\"\(edit.text ?? old?["text"]?.stringValue ?? "")\"")
        return Array("{\(properties.joined(separator: ","))}".utf8)
    }

    private func acknowledge(_ name: RevisionName, on node: SimulatedNode) {
        acknowledged.append(name)
        report.acknowledged += 1
        note("node \(node.index) wrote \(name.id) \(name.revision)")
        noticeSoon(node)
    }

    func noticeSoon(_ node: SimulatedNode) {
        queue.add(.notice(node: node.index), at: seconds + random.seconds(0...0.005))
        mergeSoon(node)
    }

    /// Has a node that merges by itself look for conflicts.
    func mergeSoon(_ node: SimulatedNode) {
        guard node.merges, !node.isMergeDue else { return }
        node.isMergeDue = true
        queue.add(.merge(node: node.index), at: seconds + random.seconds(0...configuration.storeSecondsMax))
    }

    func merge(on node: SimulatedNode) throws {
        node.isMergeDue = false
        guard node.isUp, !node.isDiskFull else { return }
        let count = try node.database.mergeConflicts()
        guard count > 0 else { return }
        report.merged += count
        note("node \(node.index) merges \(count) conflicts")
        noticeSoon(node)
    }

    /// Ends a conflict: one leaf stays, or all are merged in the way that everybody would.
    private func resolve(on node: SimulatedNode) throws {
        let name = collections[collections.count > 1 ? random.int(0..<collections.count) : 0]
        let conflicts = try node.database.read { snapshot in
            try snapshot.hasCollection(name) ? snapshot.collection(name).conflicts(limit: 20) : []
        }
        guard let conflict = conflicts.randomElement(using: &random) else { return }
        let live = conflict.leaves.filter { !$0.isDeleted }.map(\.revision)
        let merges = random.chance(0.5)
        let winner = merges ? 0 : random.int(0..<live.count)
        var losers = live
        losers.remove(at: winner)
        if !merges, losers.count > 1, random.chance(0.3) { losers.removeLast() }
        let body = Array("{\"merged\":[\(live.map { "\"\($0)\"" }.joined(separator: ","))]}".utf8)
        let ended = losers
        let (revision, _) = try node.database.writeBlocking { transaction in
            try transaction.collection(name).resolve(
                conflict.id, winner: live[winner], losers: ended, body: merges ? body : nil)
        }
        acknowledge(RevisionName(id: conflict.id, revision: revision), on: node)
    }

    /// Forgets a document or a leaf of it on this node alone.
    private func purge(on node: SimulatedNode) throws {
        let id = try drawID()
        let leaf = random.chance(0.3) ? random.int(0..<1_000) : nil
        let name = collection(of: id)
        let isGone = try node.database.writeBlocking { whole -> Bool in
            guard try whole.hasCollection(name) else { return false }
            let transaction = try whole.collection(name)
            guard let leaf, let leaves = try transaction.document(id)?.leaves else { return try transaction.purge(id) }
            return try !transaction.purge(id, revisions: [leaves[leaf % leaves.count].revision]).isEmpty
        }
        guard isGone else { return }
        note("node \(node.index) purges \(leaf == nil ? "" : "a leaf of ")\(id)")
        purged.insert(id)
        noticeSoon(node)
    }

    /// Has a document forgotten by itself on this node alone.
    private func setExpiry(on node: SimulatedNode) throws {
        let id = try drawID()
        let time = node.timeMilliseconds + Int64(random.seconds(0...20_000))
        let name = collection(of: id)
        let isThere = try node.database.writeBlocking { whole -> Bool in
            guard try whole.hasCollection(name) else { return false }
            let transaction = try whole.collection(name)
            guard try transaction.document(id) != nil else { return false }
            try transaction.setExpiry(id, at: time)
            return true
        }
        guard isThere else { return }
        note("\(id) shall expire on node \(node.index)")
        purged.insert(id)
    }

    /// After the last fault: what shall expire does.
    func settle() throws {
        for node in nodes {
            node.clockErrorMilliseconds = 2_000_000_000
            try node.database.doHousekeeping()
        }
    }

    /// When nothing is on its way any more, somebody edits each document that was purged somewhere, which must bring all of
    /// it back to everybody.
    func editPurged() throws {
        for id in purged.sorted() {
            guard let node = try nodes.first(where: { try document(id, on: $0) != nil }) else {
                continue
            }
            var edit = try drawEdit()
            edit.id = id
            edit.deletes = false
            // A value that nobody draws, so that this edit is a new one.
            edit.values[0] = 1_000
            try apply(edit, on: node)
        }
    }
}
