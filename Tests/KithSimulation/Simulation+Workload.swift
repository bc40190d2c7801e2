import KithDocuments
import KithReplication
import KithStore

// What the people at the nodes do.

extension Simulation {
    func write(on node: SimulatedNode) throws {
        guard node.isUp, !node.isDiskFull else { return }
        let id = try DocumentID("visit-\(random.int(0..<configuration.documentCount))")
        let isLarge = random.chance(configuration.largeDocumentChance)
        let filler = String(repeating: "ä", count: isLarge ? random.int(3_000..<70_000) : random.int(0..<40))
        let body = Array("{\"n\":\(random.int(0..<1_000)),\"by\":\(node.index),\"text\":\"\(filler)\"}".utf8)
        let deletes = random.chance(0.15)
        let picksLoser = random.chance(0.2)
        let choice = random.next()
        let change =
            random.chance(configuration.attachmentChance)
            ? SimulatedFiles.Change.allCases.randomElement(using: &random) ?? .keep : .keep
        let file = random.int(0..<files.count)
        // Removes blobs that nobody uses any more, while others may be about to read or use them.
        if random.chance(0.3) { try node.database.doHousekeeping() }
        let files = self.files
        let edit = { @Sendable (transaction: WriteTransaction) throws -> RevisionID? in
            let leaves = try transaction.document(id)?.leaves ?? []
            let live = leaves.filter { !$0.isDeleted }
            let parent = live.isEmpty ? nil : picksLoser ? live[Int(choice % UInt64(live.count))] : live[0]
            if parent == nil, deletes { return nil }
            let kept = try parent.flatMap { try transaction.document(id, revision: $0.revision)?.attachments }
            return try transaction.put(
                id, body: deletes ? Array("{}".utf8) : body, parent: parent?.revision, isDeleted: deletes,
                attachments: try files.attachments(
                    deletes ? .drop : change, file: file, kept: kept ?? AttachmentList(), in: transaction)
            ).revision
        }
        guard let written = try node.database.writeBlocking(edit) else { return }
        acknowledged.append(RevisionName(id: id, revision: written))
        report.acknowledged += 1
        note("node \(node.index) wrote \(id) \(written)")
        queue.add(.notice(node: node.index), at: seconds + random.seconds(0...0.005))
    }
}
