/// What a database knows of the beginning of a blob: of those without any, another process may be adding to them.
enum BlobClaim: Sendable {
    /// A writer of this process adds to it.
    case adding
    /// A writer of this process has it, and waits for whoever goes on.
    case resting
    /// Its writer has let go of it.
    case left
}
