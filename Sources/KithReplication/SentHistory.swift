import KithDocuments
import KithStore

/// The property `history` of a `rev` message: ancestors of the revision, newest first.
enum SentHistory {
    /// What a Kith node is told: what comes before the first ancestor that it has, and then all ancestors that it has, so that
    /// the branch joins and none of them stays a leaf. Gaps are legal.
    ///
    /// Merge marks come on top of that, up to as many again: the store keeps them besides the revisions too.
    ///
    /// - Parameters:
    ///   - known: what the peer has of the document.
    ///   - max: how many revisions it asks for, with the revision itself; it takes twice as many.
    static func text(of revision: RevisionForTransfer, known: [RevisionID], max: Int) -> String {
        guard !revision.history.isEmpty else { return "" }
        let limit = Swift.max(1, max - 1)
        let joins = known.isEmpty ? [] : revision.history.filter { known.contains($0) }.prefix(limit)
        var told: [RevisionID] = []
        var marks = 0
        for ancestor in revision.history {
            if ancestor == joins.first { return text(told + joins) }
            if ancestor.isMergeMark { marks += 1 }
            guard marks <= limit, told.count - marks < limit - joins.count else { break }
            told.append(ancestor)
        }
        // A mark says nothing without the revision that it was made after.
        while told.last?.isMergeMark == true { told.removeLast() }
        return text(told + joins)
    }

    /// What a client is told: each generation down to the first ancestor that it has, with a filler for each one that is not
    /// known here or that it could not read. Couchbase Lite refuses a history that skips one, unless at the length that it
    /// asked for: where the ancestor lies deeper than that, it is the last all the same, so that the branch joins.
    static func textWithoutGaps(of revision: RevisionForTransfer, known: [RevisionID], max: Int) -> String {
        text(withoutGaps(of: revision, known: known, max: max))
    }

    /// The same as revisions, newest first, without the revision itself.
    static func withoutGaps(of revision: RevisionForTransfer, known: [RevisionID], max: Int) -> [RevisionID] {
        guard !revision.history.isEmpty else { return [] }
        let limit = Swift.max(1, max - 1)
        let known = Set(known)
        let join = known.isEmpty ? nil : revision.history.first { known.contains($0) }
        var told: [RevisionID] = []
        // Behind the last that is known here nothing needs to be filled.
        var count = 0
        var newer = revision.revision
        var generation = newer.generation
        for ancestor in revision.history {
            while generation > ancestor.generation + 1, told.count < limit {
                generation -= 1
                told.append(newer.filler(at: generation))
            }
            guard told.count < limit else { break }
            generation = ancestor.generation
            guard ancestor.hasHexDigest || ancestor == join else {
                told.append(newer.filler(at: generation))
                continue
            }
            told.append(ancestor)
            count = told.count
            if ancestor == join { return told }
            newer = ancestor
        }
        guard let join else { return Array(told.prefix(count)) }
        return told.prefix(limit - 1) + [join]
    }

    private static func text(_ revisions: some Sequence<RevisionID>) -> String {
        revisions.map(\.description).joined(separator: ",")
    }
}
