import KithDocuments
import KithTransport

/// What one request holds of the budget of bodies. Little is held without being counted, so that a login or a question of a replicator
/// finds room whatever others hold.
@LoopActor
final class RESTHeldBytes {
    private let budget: RESTBodyBudget?
    private let holder: String
    private let shareBytesMax: Int
    private var byteCount = 0
    private var takenByteCount = 0

    /// - Parameters:
    ///   - budget: nil for the owner, who is believed not to send too much.
    ///   - caller: who has asked.
    ///   - place: where he is; it says who it is where nobody knows.
    init(_ budget: RESTBodyBudget?, _ caller: RESTCaller, at place: ClientPlace) {
        self.budget = budget
        switch caller {
        case .user(let principal): holder = "user " + (principal.name ?? "")
        case .peer(let id): holder = "peer \(id)"
        case .owner, .ownKey, .guest, .nobody: holder = "at " + place.host
        }
        shareBytesMax = caller.isUnknown ? NodeLimits.guestBodiesBytesMax : NodeLimits.callerBodiesBytesMax
    }

    /// - Throws: 503 where it would be too much.
    func take(_ count: Int) throws(CouchDBError) {
        guard let budget else { return }
        let sum = byteCount + count
        let wanted = sum <= NodeLimits.uncountedBodyBytesMax ? 0 : sum
        guard
            wanted <= takenByteCount || budget.take(wanted - takenByteCount, for: holder, shareBytesMax: shareBytesMax)
        else {
            throw CouchDBError(KithError(.busy, "too much is sent at once; try again in a moment"))
        }
        byteCount = sum
        takenByteCount = max(takenByteCount, wanted)
    }

    /// They are held no more.
    func giveAll() {
        if takenByteCount > 0 { budget?.give(takenByteCount, of: holder) }
        takenByteCount = 0
        byteCount = 0
    }
}
