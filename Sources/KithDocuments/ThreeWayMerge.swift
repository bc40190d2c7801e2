/// Merges two branches of a document into one body: a pure function of the bodies.
///
/// For each field, from the outermost object on downwards:
///
/// 1. changed on one side only: that side's value, or its removal;
/// 2. changed to the same value on both sides, or removed on both: that;
/// 3. an object on both sides: its fields, by these same rules; a base that is missing or is no object counts as one
///    without fields;
/// 4. changed on one side and removed on the other: the change;
/// 5. any other clash, of arrays (each as a whole), of other values, of types: the winner's value.
///
/// Where the branches have merged before, the base is not all that they share (`Origins`). A value that one of them has from
/// something else that both share was not written since: it is what some merge took, and not an edit. So it counts as a
/// change of the base, but gives way to a change that somebody made.
///
/// Names and strings are compared as bytes, and numbers by their canonical text; so a value is equal to another exactly
/// when its canonical bytes are.
///
/// **Same inputs, same bytes.** Which leaf is the winner follows from the revisions alone, so any two nodes that merge
/// the same branches write the same body, and with it the same revision: merges never fight. The base is an input like
/// the others: a node that no longer has its body must leave the merge to one that does, not merge without it.
public enum ThreeWayMerge {
    /// What the winner and the loser come from directly that both branches have, beside the base.
    public struct Origins: Sendable {
        let winner: [[UInt8]]
        let loser: [[UInt8]]

        /// Bodies of such revisions.
        public init(winner: [[UInt8]], loser: [[UInt8]]) {
            self.winner = winner
            self.loser = loser
        }
    }

    /// Merges two bodies, of which nothing else is known.
    ///
    /// - Parameters:
    ///   - base: the body of the nearest common ancestor; `nil` when the branches have none.
    ///   - winner: the body of the leaf that comes first in the order of the winner rule.
    ///   - loser: the other's.
    ///   All are canonical JSON objects, as `CanonicalJSON` writes them.
    /// - Returns: a canonical JSON object.
    /// - Throws: `too_large` when the result would have more than `DocumentLimits.documentBytesMax` bytes;
    ///   `bad_document` when the winner or the loser is no object.
    public static func merge(base: [UInt8]?, winner: [UInt8], loser: [UInt8]) throws(KithError) -> [UInt8] {
        try merge(base: base, winner: winner, loser: loser, origins: Origins(winner: [], loser: [])).body
    }

    /// Merges two bodies of branches that have merged before. As the other, but for the origins.
    ///
    /// - Returns: a canonical JSON object; whether both sides have changed the same, so that the origins counted.
    public static func merge(
        base: [UInt8]?, winner: [UInt8], loser: [UInt8], origins: Origins
    ) throws(KithError) -> (body: [UInt8], hasClash: Bool) {
        // By far the most frequent inputs, and the walk would come to the same.
        if winner == loser { return (winner, false) }
        let known = ([base ?? []] + origins.winner + origins.loser)[...]
        let walk = withBuffers(known, []) { known in
            winner.withUnsafeBufferPointer { winner in
                loser.withUnsafeBufferPointer { loser in
                    run(known: known, winner: winner, loser: loser, winnerOrigins: origins.winner.count)
                }
            }
        }
        guard let walk else {
            throw KithError(.badDocument, "a document's body that was to be merged is not a canonical JSON object")
        }
        guard walk.output.count <= DocumentLimits.documentBytesMax else {
            throw KithError(
                .tooLarge,
                "the merged document has \(walk.output.count) bytes; \(DocumentLimits.documentBytesMax) are allowed",
                remedy: "Resolve the conflict by hand, or divide the document into smaller ones")
        }
        return (walk.output, walk.hasClash)
    }

    /// There are few.
    private static func withBuffers<Result>(
        _ texts: ArraySlice<[UInt8]>, _ buffers: [UnsafeBufferPointer<UInt8>],
        _ body: ([UnsafeBufferPointer<UInt8>]) -> Result
    ) -> Result {
        guard let text = texts.first else { return body(buffers) }
        return text.withUnsafeBufferPointer { withBuffers(texts.dropFirst(), buffers + [$0], body) }
    }

    private static func run(
        known: [UnsafeBufferPointer<UInt8>], winner: UnsafeBufferPointer<UInt8>, loser: UnsafeBufferPointer<UInt8>,
        winnerOrigins: Int
    ) -> (output: [UInt8], hasClash: Bool)? {
        guard let winnerIndex = JSONMemberIndex(winner), let loserIndex = JSONMemberIndex(loser) else { return nil }
        var walk = MergeWalk(
            known: known.map { MergeSide(bytes: $0, members: JSONMemberIndex($0)?.members ?? []) },
            winner: MergeSide(bytes: winner, members: winnerIndex.members),
            loser: MergeSide(bytes: loser, members: loserIndex.members), winnerOrigins: winnerOrigins)
        return (walk.run(), walk.hasClash)
    }
}
