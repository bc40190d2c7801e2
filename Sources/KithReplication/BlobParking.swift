import KithStore
import Synchronization

/// Blobs of a database whose transfer was interrupted, for the next link that fetches them, with what is not stored of them
/// yet. What is let go of here, and what a process leaves that ends, stays in the store for a time (`Database.resumeBlob`).
final class BlobParking: Sendable {
    /// Interrupted blobs that are kept; of one more the oldest is let go of. Each holds up to two mebibytes in the store's
    /// writer.
    static let parkedMax = 16
    /// A shorter beginning is not worth keeping: it is a piece that the sender reads in one go.
    static let parkedBytesMin: UInt64 = 256 << 10

    /// The oldest first.
    private let parked = Mutex<[(key: BlobKey, writer: BlobWriter)]>([])

    /// Keeps what was received of a blob, if somebody can go on with it.
    func leave(_ writer: BlobWriter, _ key: BlobKey) {
        guard writer.canContinue, writer.byteCount >= Self.parkedBytesMin else { return }
        let released: BlobWriter? = parked.withLock { parked in
            // Two links received it: the longer beginning is kept here. The other stays in the store: it may be the right one.
            let known = parked.firstIndex { $0.key == key }
            if let known, parked[known].writer.byteCount >= writer.byteCount { return writer }
            parked.append((key, writer))
            if let known { return parked.remove(at: known).writer }
            return parked.count > Self.parkedMax ? parked.removeFirst().writer : nil
        }
        if released !== writer { writer.setResting(true) }
        // It writes to the store when it goes, so outside of the lock.
        withExtendedLifetime(released) {}
    }

    /// Takes what was received of a blob, or `nil`.
    func take(_ key: BlobKey) -> BlobWriter? {
        let writer: BlobWriter? = parked.withLock { parked in
            parked.firstIndex { $0.key == key }.map { parked.remove(at: $0).writer }
        }
        guard let writer, writer.canContinue else { return nil }
        writer.setResting(false)
        return writer
    }
}
