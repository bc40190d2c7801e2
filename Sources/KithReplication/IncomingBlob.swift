import KithDocuments
import KithStore
import Synchronization

/// A blob that a link is receiving: the writer of the store, and where to leave it when the link is lost.
///
/// Whoever lets go of it leaves the blob to the next link, which goes on behind the bytes that are here; unless it was
/// spoiled, which removes them, or finished.
public final class IncomingBlob: Sendable {
    let key: BlobKey
    let writer: BlobWriter
    private let parking: BlobParking
    private let isSpoiled = Atomic(false)
    private let othersAreSpoiled = Atomic(false)

    init(_ key: BlobKey, _ writer: BlobWriter, parking: BlobParking) {
        self.key = key
        self.writer = writer
        self.parking = parking
    }

    deinit {
        guard isSpoiled.load(ordering: .relaxed) else { return parking.leave(writer, key) }
        guard othersAreSpoiled.load(ordering: .relaxed) else { return writer.cancel() }
        writer.cancelWithOthers()
        _ = parking.take(key)
    }

    /// Says that nobody shall go on with these bytes, since they are wrong.
    ///
    /// - Parameter others: nor with what else others have brought of the same blob: some of these are theirs.
    func spoil(andOthers others: Bool) {
        othersAreSpoiled.store(others, ordering: .relaxed)
        isSpoiled.store(true, ordering: .relaxed)
    }
}
