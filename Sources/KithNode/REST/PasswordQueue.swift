import KithAccess
import KithDocuments
import KithTransport

/// Where passwords wait to be hashed, which is slow on purpose: one after the other on a thread that leaves the processor to others,
/// with few places for each address.
@LoopActor
final class PasswordQueue {
    private var runningCount = 0
    private var waitingCount = 0
    /// Those that wait or run, by address.
    private var countsByHost: [String: Int] = [:]
    private let free = ChangeSignal()

    /// Waits for its turn, then does slow work.
    ///
    /// - Parameters:
    ///   - host: of the client, see `ClientPlace`; nil for the owner, who always has a place.
    ///   - known: is called when it is its turn: gives what makes the work needless, or throws.
    /// - Throws: `.busy` where there is no place; what `known` and `work` throw.
    func run<T: Sendable>(
        for host: String?, unless known: @LoopActor () throws -> T? = { nil }, work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        if let host { try takePlace(host) }
        defer { if let host { leavePlace(host) } }
        waitingCount += 1
        while runningCount >= AccessLimits.verificationsAtOnceMax { await free.wait(secondsMax: 60) }
        waitingCount -= 1
        if let known = try known() { return known }
        runningCount += 1
        defer {
            runningCount -= 1
            free.signal()
        }
        return try await EventLoop.apart(work)
    }

    private func takePlace(_ host: String) throws(KithError) {
        guard waitingCount < NodeLimits.loginsWaitingMax,
            countsByHost[host, default: 0] < NodeLimits.loginsPerAddressMax
        else { throw KithError(.busy, "too many others are logging in", remedy: "Try again in a moment") }
        countsByHost[host, default: 0] += 1
    }

    private func leavePlace(_ host: String) {
        countsByHost[host, default: 1] -= 1
        if countsByHost[host] == 0 { countsByHost[host] = nil }
    }
}
