import KithDocuments
import KithStore

/// What a replication machine wants of the store; its shell performs it and hands back a `StoreResult`.
public enum StoreRequest: Sendable {
    /// Reads the changes after a sequence. With `counts`, also counts the documents that remain after them.
    case readChanges(since: UInt64, limit: Int, counts: Bool)
    /// Reads the last changes of these documents, in the order of their sequences.
    case readDocuments([DocumentID])
    /// Asks which of these revisions are here, and which ancestors of those that are not.
    case lookUp([RevisionName])
    /// Asks of revisions that the peer wants to push whether they would make conflicts.
    case judge([Proposal])
    /// Reads revisions with their histories, in order, until `bytesMax` bytes of bodies are passed; the answer is shorter
    /// then. Each with what the peer has of the document, so that the history can say what of that is superseded. With
    /// `replacesGone` the winner is read in place of a revision that is no leaf any more.
    case readRevisions([OutgoingRevision], bytesMax: Int)
    /// Stores revisions that the peer sent.
    case insert([IncomingRevision])
    /// Takes the peer's word that leaves here are superseded by revisions that are here.
    case supersede([Supersession])
    /// Reads the names of all collections.
    case listCollections
    /// Reads how far collections are, each with one of its local documents, of those as many as have room in `bytesMax`.
    case openCollections([(name: CollectionName, localDocument: String)], bytesMax: Int)
    /// Makes collections, where they are not there.
    case createCollections([CollectionName])
    /// Reads a local document.
    case readLocal(name: String)
    /// Writes local documents together.
    case writeLocal([LocalDocument])
    /// Writes a peer's checkpoint, if its revision is still the expected one.
    case writeCheckpoint(CheckpointWrite)
    /// Notes what was refused.
    case noteRefusals([DocumentRefusal])
    /// Forgets what was refused and was taken after all.
    case forgetRefusals([DocumentRefusal.Key])

    /// Asks which of these blobs are stored as a whole.
    case hasBlobs([AttachmentDigest])
    /// Reads a part of a blob.
    case readBlobPiece(AttachmentDigest, offset: UInt64, count: Int)
    /// Makes the proof that a blob is here: the SHA-1 over these bytes and then the blob.
    case proveBlob(AttachmentDigest, after: [UInt8])
    /// Begins a blob that comes from the peer; with `resumes`, goes on with one whose transfer was interrupted.
    case beginBlob(AttachmentDigest, length: UInt64, resumes: Bool)
    /// Adds bytes to a blob; answered when there is room for more.
    case appendBlob(IncomingBlob, [UInt8])
    /// Ends a blob: answered when it is durable and is what its digest says.
    case finishBlob(IncomingBlob)

    /// Begins a blob of which the digest shows at its end.
    case beginStream(length: UInt64?)
    /// Adds bytes to it; answered when there is room for more.
    case appendStream(BlobWriter, [UInt8])
    /// Ends it: answered when it is durable.
    case finishStream(BlobWriter)
    /// Reads of a document, in the first of these revisions that is here, the attachments.
    case readAttachments(DocumentID, [RevisionID])

    /// Whether this request changes the database.
    public var isWrite: Bool {
        switch self {
        case .readChanges, .readDocuments, .lookUp, .judge, .readRevisions, .readLocal, .listCollections,
            .openCollections, .hasBlobs,
            .readBlobPiece, .proveBlob, .beginBlob, .beginStream, .readAttachments:
            false
        case .insert, .supersede, .createCollections, .writeLocal, .writeCheckpoint, .noteRefusals, .forgetRefusals,
            .appendBlob, .finishBlob, .appendStream, .finishStream:
            true
        }
    }
}
