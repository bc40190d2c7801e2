import KithDocuments

/// The beginning of a blob that somebody left in the database, and that is taken up again.
struct BlobBeginning: Sendable {
    let number: Int
    /// What it is to become.
    let expected: Blob
    /// How many bytes there are, in pieces of the full size.
    let stored: Int
    let leasedUntil: Int64
    /// Has hashed those that were read again.
    let hasher: RunningDigest
}
