import KithTransport

/// The bytes of request bodies that are held in memory for callers other than the owner, all together and for each.
@LoopActor
final class RESTBodyBudget {
    private var heldByteCount = 0
    private var countsByHolder: [String: Int] = [:]

    /// - Parameters:
    ///   - holder: who they are held for.
    ///   - shareBytesMax: what is held for him at most.
    /// - Returns: false where it would be too much; then nothing was taken.
    func take(_ byteCount: Int, for holder: String, shareBytesMax: Int) -> Bool {
        let held = countsByHolder[holder, default: 0] + byteCount
        guard held <= shareBytesMax, heldByteCount + byteCount <= NodeLimits.bodiesBytesMax else { return false }
        heldByteCount += byteCount
        countsByHolder[holder] = held
        return true
    }

    func give(_ byteCount: Int, of holder: String) {
        heldByteCount -= byteCount
        let left = countsByHolder[holder, default: 0] - byteCount
        countsByHolder[holder] = left > 0 ? left : nil
    }
}
