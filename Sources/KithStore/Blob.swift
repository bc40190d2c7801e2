import KithDocuments

/// A blob as it is stored: bytes that documents refer to as attachments, known by what they are.
public struct Blob: Sendable, Hashable {
    /// What names the bytes.
    public let digest: AttachmentDigest
    /// How many bytes there are.
    public let length: UInt64

    package init(digest: AttachmentDigest, length: UInt64) {
        self.digest = digest
        self.length = length
    }
}
