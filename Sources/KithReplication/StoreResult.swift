import KithDocuments
import KithStore

/// The answer to a `StoreRequest`, in the same case.
public enum StoreResult: Sendable {
    /// The changes, the documents that remain after them (when asked), and the database's last sequence.
    case changes([Change], remaining: Int?, lastSequence: UInt64)
    /// The same where a filter says which revisions may not be sent.
    case filteredChanges([Change], withheld: Set<RevisionName>, remaining: Int?, lastSequence: UInt64)
    /// One answer for each revision asked about.
    case lookups([RevisionLookup])
    /// One answer for each proposal.
    case judgements([ProposalAnswer])
    /// An answer for each revision asked for, `nil` when it is no longer here and an error when its document is damaged;
    /// fewer, at least one, when bodies are large.
    case revisions([Result<RevisionForTransfer?, KithError>])
    /// One outcome for each revision.
    case inserted([Result<Insertion, KithError>])
    /// What was said of superseded leaves is taken and durable.
    case superseded
    /// The names of all collections.
    case collectionNames([CollectionName])
    /// For each collection how far it is; `nil`: there is none of that name.
    case openedCollections([OpenedCollection?])
    /// The local document, or `nil`.
    case local([UInt8]?)
    /// What was to be written or made is durable.
    case written
    /// The checkpoint's new revision.
    case checkpoint(revision: UInt64)
    /// The checkpoint has another revision than expected.
    case checkpointConflict
    /// For each blob asked about its length, `nil` when it is not here.
    case blobLengths([UInt64?])
    /// Bytes of a blob, with the length of the whole.
    case blobPiece([UInt8], length: UInt64)
    /// There is no such blob, or no longer.
    case noBlob
    /// The proof that a blob is here.
    case blobProof(AttachmentDigest)
    /// What takes the bytes of a blob, and how many it has already.
    case blobBegun(IncomingBlob, offset: UInt64)
    /// What takes the bytes of a blob without a known digest.
    case streamBegun(BlobWriter)
    /// A blob without a known digest is durable.
    case streamStored(Blob)
    /// The attachments of the first of the revisions that is here.
    case attachments(AttachmentList, of: RevisionID)
    /// None of the revisions asked for is here.
    case noAttachments
    /// The store failed; nothing was changed.
    case failed(KithError)
}

extension StoreResult {
    /// Changes, with those of their revisions that may not be sent.
    var sendableChanges: (changes: [Change], withheld: Set<RevisionName>, remaining: Int?, lastSequence: UInt64)? {
        switch self {
        case .changes(let changes, let remaining, let last): (changes, [], remaining, last)
        case .filteredChanges(let changes, let withheld, let remaining, let last):
            (changes, withheld, remaining, last)
        default: nil
        }
    }
}
