import KithDocuments
import Synchronization

/// Whether the right to a request that is under way was taken back: the loop says so, and whoever writes looks, on any thread.
final class Revocation: Sendable {
    private let flag = Atomic<Bool>(false)

    /// From now on nothing is written for the request.
    func revoke() { flag.store(true, ordering: .sequentiallyConsistent) }

    /// - Throws: 403 where it was taken back.
    func check() throws(CouchDBError) {
        guard flag.load(ordering: .sequentiallyConsistent) else { return }
        throw CouchDBError("forbidden", KithError(.forbidden, "The right to this was taken back meanwhile."))
    }
}
