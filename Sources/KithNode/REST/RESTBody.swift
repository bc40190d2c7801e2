import KithDocuments
import KithTransport

/// The body of a request that is taken as it comes, such as an attachment: whoever sends waits for whoever takes.
@LoopActor
final class RESTBody {
    private var pieces: [[UInt8]] = []
    private var hasEnded = false
    private var error: KithError?
    private let changed = ChangeSignal()
    /// Bytes that have come and were not taken.
    private(set) var bufferedByteCount = 0
    /// Called when bytes were taken.
    var onTaken: (() -> Void)?

    /// The next bytes; nil at the end.
    ///
    /// - Throws: why no more come.
    func next() async throws(KithError) -> [UInt8]? {
        while true {
            if let piece = pieces.first {
                pieces.removeFirst()
                bufferedByteCount -= piece.count
                onTaken?()
                return piece
            }
            if let error { throw error }
            if hasEnded { return nil }
            await changed.wait(secondsMax: 3_600)
        }
    }

    func append(_ bytes: [UInt8]) {
        // However small the chunks are in which a client sends, there are few pieces.
        if let last = pieces.indices.last, pieces[last].count < NodeLimits.linkBufferBytesMax / 4 {
            pieces[last].append(contentsOf: bytes)
        } else {
            pieces.append(bytes)
        }
        bufferedByteCount += bytes.count
        changed.signal()
    }

    func end() {
        hasEnded = true
        changed.signal()
    }

    func fail(_ error: KithError) {
        if self.error == nil, !hasEnded { self.error = error }
        changed.signal()
    }
}
