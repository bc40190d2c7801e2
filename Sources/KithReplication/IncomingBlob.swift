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

    init(_ key: BlobKey, _ writer: BlobWriter, parking: BlobParking) {
        self.key = key
        self.writer = writer
        self.parking = parking
    }

    deinit {
        if isSpoiled.load(ordering: .relaxed) { writer.cancel() } else { parking.leave(writer, key) }
    }

    /// Says that nobody shall go on with these bytes.
    func spoil() { isSpoiled.store(true, ordering: .relaxed) }
}
