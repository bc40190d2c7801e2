import KithDocuments

/// A blob as a document claims it. Two documents that claim different lengths of one digest cannot both be right, so they
/// are fetched and refused each for itself.
struct BlobKey: Hashable {
    let digest: AttachmentDigest
    let length: UInt64
}
