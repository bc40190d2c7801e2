import KithDocuments

/// Any bytes as a document: what is accepted is canonical, stays the same in every reading, and no path disagrees.
func fuzzCanonicalJSON(_ bytes: UnsafeRawBufferPointer) {
    _ = try? JSONOutline.members(of: bytes)
    _ = JSONValue(canonical: Array(bytes))
    _ = try? ThreeWayMerge.merge(base: Array(bytes), winner: Array(bytes), loser: Array("{}".utf8))
    guard let canonical = try? CanonicalJSON.canonicalize(bytes) else {
        precondition((try? CanonicalJSON.canonicalizeBody(bytes)) == nil, "a body that is not a JSON value")
        precondition((try? CanonicalJSON.split(bytes)) == nil, "a document that is not a JSON value")
        return
    }
    precondition((try? CanonicalJSON.canonicalize(canonical)) == canonical, "canonical output is not canonical")
    let value = JSONValue(canonical: canonical)
    precondition(value.canonicalBytes() == canonical, "a value is not written as it was read")
    precondition((try? JSONValue(parsing: bytes)) == value, "two readings of one text differ")
    precondition((try? JSONValue(parsing: value.prettyText())) == value, "text for people reads differently")
    fuzzMerge(value)
    fuzzMetadata(value)
    if let body = try? CanonicalJSON.canonicalizeBody(bytes) {
        precondition(body == canonical, "a body's canonical form differs")
        precondition((try? CanonicalJSON.split(bytes))?.body == canonical, "a document without metadata differs")
    } else if let parts = try? CanonicalJSON.split(bytes) {
        precondition((try? CanonicalJSON.canonicalizeBody(parts.body)) == parts.body, "the rest is not a body")
    }
}

/// The first objects of an object as branches of a document, and the third as their base.
private func fuzzMerge(_ value: JSONValue) {
    let objects = (value.objectValue?.map(\.value) ?? []).filter { $0.objectValue != nil }.map { $0.canonicalBytes() }
    guard objects.count >= 2 else { return }
    let base = objects.count > 2 ? objects[2] : nil
    let merged = try! ThreeWayMerge.merge(base: base, winner: objects[0], loser: objects[1])
    precondition((try? CanonicalJSON.canonicalize(merged)) == merged, "a merged document is not canonical")
    for known in objects.prefix(2) {
        let again = try! ThreeWayMerge.merge(base: base, winner: merged, loser: known)
        precondition(again == merged, "a merge finds something new in what was merged already")
    }
}

/// Any value as attachments and as an expiry.
private func fuzzMetadata(_ value: JSONValue) {
    _ = try? Expiry(value)
    guard let entries = try? IncomingAttachment.list(value) else { return }
    guard let list = try? AttachmentList(stubs: entries) else { return }
    precondition((try? AttachmentList(canonical: list.canonicalBytes())) == list, "attachments are not read as written")
}

/// Any bytes as an encoded tree, and as a list of insertions.
func fuzzRevisionTree(_ bytes: UnsafeRawBufferPointer) {
    if let tree = try? RevisionTree(decoding: bytes) {
        precondition(tree.encoded() == Array(bytes), "a tree has two encodings")
        checkRevisionTree(tree)
    }
    var tree = RevisionTree()
    var next = 0
    func byte() -> UInt8 {
        defer { next += 1 }
        return next < bytes.count ? bytes[next] : 0
    }
    func revision(_ generation: UInt64) -> RevisionID? {
        try? RevisionID(generation: generation, digest: ["aa", "bb", "c", "DD"][Int(byte() & 3)])
    }
    while next < bytes.count {
        let head = byte()
        var generation = UInt64(head & 15) + 1
        guard let newest = revision(generation) else { continue }
        var history: [RevisionID] = []
        for _ in 0..<(head >> 4 & 7) {
            generation &-= UInt64(byte() & 3)
            if let ancestor = revision(generation) { history.append(ancestor) }
        }
        let before = tree
        do {
            let outcome = try tree.insert(newest, history: history, isDeleted: head & 128 != 0)
            precondition((outcome == .alreadyPresent) == (tree == before), "the outcome does not tell what happened")
            precondition(tree.contains(newest) && history.allSatisfy { tree.contains($0) && !tree.isLeaf($0) })
            let again = try tree.insert(newest, history: history)
            precondition(again == .alreadyPresent, "inserted twice")
        } catch {
            precondition(tree == before, "a refused insertion changed the tree")
        }
        checkRevisionTree(tree)
    }
    var pruned = tree
    pruned.prune(toDepth: Int(bytes.first ?? 0) + 1)
    checkRevisionTree(pruned)
    precondition(pruned.leaves == tree.leaves, "pruning changed the leaves")
    for entry in tree.entries {
        precondition(pruned.contains(entry.revision), "a pruned revision is forgotten")
        var other = pruned
        let outcome = try? other.insert(entry.revision, history: tree.history(of: entry.revision))
        precondition(outcome != nil && other.leaves == tree.leaves, "a known revision changed the leaves")
        checkRevisionTree(other)
        guard let proof = pruned.supersession(of: entry.revision) else {
            precondition(entry.isLeaf, "nothing supersedes an ancestor")
            continue
        }
        precondition(pruned.isLeaf(proof.leaf) && proof.history.last == entry.revision, "a proof proves nothing")
        var peer = RevisionTree()
        try! peer.insert(entry.revision)
        try! peer.insert(proof.leaf, history: proof.history)
        precondition(!peer.isLeaf(entry.revision), "a proof convinces nobody")
    }
}

private func checkRevisionTree(_ tree: RevisionTree) {
    precondition((try? RevisionTree(decoding: tree.encoded())) == tree, "a tree does not survive encoding")
    precondition(
        tree.isEmpty == (tree.winner == nil) && tree.winner == tree.leaves.first, "the winner is not the first")
    precondition(tree.leafCount == tree.leaves.count)
    for entry in tree.entries {
        let history = tree.history(of: entry.revision)
        precondition(tree.parent(of: entry.revision) == history.first)
        var generation = entry.revision.generation
        for ancestor in history {
            precondition(ancestor.generation < generation && !tree.isLeaf(ancestor), "a history does not descend")
            generation = ancestor.generation
        }
        _ = tree.possibleAncestors(of: entry.revision)
    }
}

/// Any bytes as a revision ID, a document ID and a database name.
func fuzzRevisionID(_ bytes: UnsafeRawBufferPointer) {
    if let revision = try? RevisionID(parsing: bytes) {
        precondition(revision.bytes == Array(bytes), "a revision ID is not written as it was read")
        precondition((1...4_294_967_295).contains(revision.generation))
        precondition(try! RevisionID(generation: revision.generation, digest: revision.digest) == revision)
    }
    let half = bytes.count / 2
    let left = try? RevisionID(parsing: UnsafeRawBufferPointer(rebasing: bytes[..<half]))
    let right = try? RevisionID(parsing: UnsafeRawBufferPointer(rebasing: bytes[half...]))
    if let left, let right {
        precondition([left < right, right < left, left == right].count { $0 } == 1, "two IDs have no order")
    }
    if let id = try? DocumentID(utf8: bytes) {
        precondition(Array(id.text.utf8) == Array(bytes), "a document ID is not written as it was read")
    }
    if let name = try? DatabaseName(String(decoding: bytes, as: UTF8.self)) {
        precondition(try! DatabaseName(fileName: name.fileName) == name, "a file name names another database")
    }
}
