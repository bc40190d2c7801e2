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
/// Names and strings are compared as bytes, and numbers by their canonical text; so a value is equal to another exactly
/// when its canonical bytes are.
///
/// **Same inputs, same bytes.** Which leaf is the winner follows from the revisions alone, so any two nodes that merge
/// the same branches write the same body, and with it the same revision: merges never fight. The base is an input like
/// the others: a node that no longer has its body must leave the merge to one that does, not merge without it.
public enum ThreeWayMerge {
    /// Merges two bodies.
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
        // By far the most frequent inputs, and the walk would come to the same.
        if winner == loser { return winner }
        let result = (base ?? []).withUnsafeBufferPointer { base in
            winner.withUnsafeBufferPointer { winner in
                loser.withUnsafeBufferPointer { loser in run(base: base, winner: winner, loser: loser) }
            }
        }
        guard let result else {
            throw KithError(.badDocument, "a document's body that was to be merged is not a canonical JSON object")
        }
        guard result.count <= DocumentLimits.documentBytesMax else {
            throw KithError(
                .tooLarge,
                "the merged document has \(result.count) bytes; \(DocumentLimits.documentBytesMax) are allowed",
                remedy: "Resolve the conflict by hand, or divide the document into smaller ones")
        }
        return result
    }

    private static func run(
        base: UnsafeBufferPointer<UInt8>, winner: UnsafeBufferPointer<UInt8>, loser: UnsafeBufferPointer<UInt8>
    ) -> [UInt8]? {
        guard let winnerIndex = JSONMemberIndex(winner), let loserIndex = JSONMemberIndex(loser) else { return nil }
        let baseIndex = JSONMemberIndex(base)
        var walk = MergeWalk(
            base: MergeSide(bytes: base, members: baseIndex?.members ?? []),
            winner: MergeSide(bytes: winner, members: winnerIndex.members),
            loser: MergeSide(bytes: loser, members: loserIndex.members))
        return walk.run()
    }
}
