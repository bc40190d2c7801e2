import KithDocuments

/// A blob on its way from the peer to the store.
final class BlobFetch {
    let key: BlobKey
    /// Where its bytes go; `nil` before the store has answered, and when it is given up.
    var blob: IncomingBlob?
    /// Bytes that an earlier link has brought.
    var offset: UInt64 = 0
    /// Bytes that came while the store was busy.
    var pending: [UInt8] = []
    var isAppending = false
    /// Those of earlier links included.
    var receivedBytes: UInt64 = 0
    /// Whether the whole answer has come.
    var isEnded = false
    /// Whether it failed: the rest of the answer is dropped while it comes.
    var isGivenUp = false
    /// The tag under which the link knows the answer.
    var tag: UInt64 = 0

    init(_ key: BlobKey) { self.key = key }
}
