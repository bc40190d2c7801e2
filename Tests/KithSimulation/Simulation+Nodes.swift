import KithDocuments
import KithReplication
import KithStore

// Nodes, and what they ask of their stores.

extension Simulation {
    func crash(_ node: SimulatedNode, _ downSeconds: Double) {
        guard node.isUp else { return }
        note("node \(node.index) crashes")
        takeDown(node, downSeconds)
        crashedExecutors.append(node.executor)
        node.forgetMemory()
    }

    /// Its sessions are gone, and the peers find out in their own time.
    private func takeDown(_ node: SimulatedNode, _ downSeconds: Double) {
        node.isUp = false
        for (link, end) in linkEnds(of: node) where link.ends[end].session != nil {
            link.cut(afterSeconds: (0..<2).map { _ in seconds + random.seconds(0...configuration.delaySecondsMax) })
            if let session = link.ends[end].session { crashed.append(session) }
            loseLink(link, end)
            queue.add(.loseLink(link: link.id, end: 1 - end), at: seconds + random.seconds(0...8))
        }
        queue.add(.restart(node: node.index), at: min(seconds + downSeconds, configuration.busySeconds))
    }

    // MARK: Other databases in place of those that are here

    func backUp(_ node: SimulatedNode) async throws {
        let path = try folder.newPath("backup")
        try await node.database.backup(to: path)
        node.backups.append(path)
        note("node \(node.index) is backed up to \(path)")
    }

    func replaceDatabase(of node: SimulatedNode, _ replacement: Replacement, _ downSeconds: Double) async throws {
        guard node.isUp else { return }
        let name = node.database.name
        let path: String
        switch replacement {
        case .empty: path = ":memory:"
        case .restored:
            guard let backup = node.backups.last else { return }
            path = try folder.newPath("restored")
            try await Database.restore(from: backup, to: path, name: name)
        case .backupFile:
            guard let backup = node.backups.last else { return }
            path = try folder.copy(backup)
        case .copy(let other):
            guard let backup = nodes[other].backups.last else { return }
            path = try folder.newPath("copy")
            try await Database.copyPrebuilt(from: backup, to: path, name: name)
        }
        note("node \(node.index) gets another database: \(replacement)")
        takeDown(node, downSeconds)
        crashedExecutors.append(node.executor)
        try node.replaceDatabase(path: path)
        try excuseWhatIsLost()
    }

    /// What no database has any more was lost with the one that is gone.
    private func excuseWhatIsLost() throws {
        let names = Array(Set(acknowledged).subtracting(excused)).sorted { ($0.id, $0.revision) < ($1.id, $1.revision) }
        let lookups = try nodes.map { node in try lookup(names.map { ($0.id, $0.revision) }, on: node) }
        for (index, name) in names.enumerated() {
            let isLost = lookups.allSatisfy { if case .missing = $0[index] { true } else { false } }
            if isLost { excused.insert(name) }
        }
    }

    func performStore(
        _ link: SimulatedLink, _ end: Int, _ incarnation: Int, _ pending: ReplicationSession.PendingRequest
    ) throws {
        let node = nodes[link.ends[end].node]
        // A crash takes what the store had not begun.
        guard node.incarnation == incarnation else { return }
        checkDirection(link, end, pending.request)
        let result: StoreResult
        if pending.request.isWrite, node.isDiskFull {
            result = .failed(KithError(.diskFull, "no space is left"))
        } else if case .insert(let revisions) = pending.request, configuration.sabotage == .forgetsStoredRevision,
            sabotageLeft > 0, seconds > configuration.busySeconds * 0.8
        {
            sabotageLeft -= 1
            result = .inserted(
                revisions.map { _ in .success(Insertion(outcome: .inserted(sequence: 1), previousSequence: 0)) })
        } else {
            if case .writeCheckpoint(let write) = pending.request, link.client == nil {
                try checkCheckpoint(link, pending.collection, write.body)
            }
            let filter = configuration.sabotage == .ignoresFilters ? nil : link.ends[end].filter
            let executor = node.executor.filtered(by: filter?.pushFilter)
            var answer = executor.performNow(pending.request, in: pending.collection)
            checkFilter(link, end, answer)
            if case .failed(let error) = answer, error.code == .diskFull { report.fullDisks += 1 }
            if case .blobPiece(var bytes, let length) = answer, configuration.sabotage == .changesByteOfBlob,
                sabotageLeft > 0, !bytes.isEmpty
            {
                sabotageLeft -= 1
                bytes[0] ^= 1
                answer = .blobPiece(bytes, length: length)
            }
            if case .lookups(let lookups) = answer, configuration.sabotage == .hidesSuperseded {
                answer = .lookups(
                    lookups.map { lookup in
                        switch lookup {
                        case .branch, .superseded: .known
                        case .known, .missing: lookup
                        }
                    })
            }
            result = answer
            note(Self.description(of: pending.request, answer, node: node.index, link: link.id) ?? "")
            switch pending.request {
            case .insert(let revisions):
                countBodies(revisions, answer)
                noticeSoon(node)
            case .supersede:
                noticeSoon(node)
            default: break
            }
        }
        queue.add(
            .completeStore(link: link.id, end: end, incarnation: incarnation, token: pending.token, result),
            at: seconds + random.seconds(0...configuration.storeSecondsMax))
    }

    private func countBodies(_ revisions: [IncomingRevision], _ answer: StoreResult) {
        guard case .inserted(let outcomes) = answer else { return }
        report.bodiesReceived += revisions.count
        report.bodiesNew += outcomes.count { outcome in
            if case .success(let insertion) = outcome, case .inserted = insertion.outcome { true } else { false }
        }
    }

    /// What is worth reading in a log; `nil` for the rest.
    private static func description(
        of request: StoreRequest, _ result: StoreResult, node: Int, link: Int
    ) -> String? {
        let text: String
        switch (request, result) {
        case (.readChanges(let since, _, _), .changes(let changes, _, let last)):
            let list = changes.map { "\($0.sequence) \($0.id) \($0.leaves.map { "\($0.revision)".prefix(8) })" }
            text = "reads changes after \(since) up to \(last): \(list.joined(separator: ", "))"
        case (.lookUp(let names), .lookups(let lookups)):
            let list = zip(names, lookups).map { "\($0.id) \("\($0.revision)".prefix(8)): \($1)" }
            text = "looks up \(list.joined(separator: ", "))"
        case (.insert(let revisions), .inserted(let outcomes)):
            let list = zip(revisions, outcomes).map { "\($0.id) \("\($0.revision)".prefix(8)): \($1)" }
            text = "stores \(list.joined(separator: ", "))"
        case (.supersede(let supersessions), _):
            text = "takes as superseded \(supersessions.map { "\($0.id) \($0.revision) by \($0.leaf)" })"
        case (.writeCheckpoint(let write), _):
            text = "keeps the checkpoint \(String(decoding: write.body, as: UTF8.self))"
        case (.hasBlobs(let digests), _):
            text = "looks for blobs \(digests.map { "\($0)".prefix(12) }): \(result)"
        case (.beginBlob(let digest, let length, _), _): text = "begins blob \(digest) of \(length) bytes"
        case (.appendBlob(_, let bytes), _): text = "appends \(bytes.count) bytes to a blob"
        case (.finishBlob, _): text = "ends a blob"
        case (.readBlobPiece(let digest, let offset, let count), _):
            text = "reads \(count) bytes of blob \(digest) from \(offset) on"
        default: return nil
        }
        return "node \(node), link \(link): \(text)"
    }
}
