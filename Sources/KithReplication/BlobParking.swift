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
        // Outside of the lock, since that writes to the store.
        let shorter: BlobWriter? = parked.withLock { parked in
            if let index = parked.firstIndex(where: { $0.key == key }) {
                // Two links received it: the longer beginning is kept.
                guard parked[index].writer.byteCount < writer.byteCount else { return writer }
                let shorter = parked.remove(at: index).writer
                parked.append((key, writer))
                return shorter
            }
            parked.append((key, writer))
            if parked.count > Self.parkedMax { parked.removeFirst() }
            return nil
        }
        shorter?.cancel()
    }

    /// Takes what was received of a blob, or `nil`.
    func take(_ key: BlobKey) -> BlobWriter? {
        let writer: BlobWriter? = parked.withLock { parked in
            parked.firstIndex { $0.key == key }.map { parked.remove(at: $0).writer }
        }
        return writer?.canContinue == true ? writer : nil
    }
}
