import KithTransport

/// The bytes of request bodies that are held in memory for callers of the network, all together.
@LoopActor
final class RESTBodyBudget {
    private var heldByteCount = 0

    /// - Returns: false where it would be too much; then nothing was taken.
    func take(_ byteCount: Int) -> Bool {
        guard heldByteCount + byteCount <= NodeLimits.networkBodiesBytesMax else { return false }
        heldByteCount += byteCount
        return true
    }

    func give(_ byteCount: Int) { heldByteCount -= byteCount }
}
