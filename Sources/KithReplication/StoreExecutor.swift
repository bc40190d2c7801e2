import KithDocuments
import KithStore
import Synchronization

/// Performs the store requests of replication machines on a database.
///
/// Reads go to the database's readers, writes to its writer, where they share commits with other writes. The answer
/// comes on a thread of the store; a write's answer comes only when it is durable.
public struct StoreExecutor: Sendable {
    private let database: Database
    private let parking = BlobParking()
    private var filter: PushFilter?

    /// Performs on this database.
    public init(database: Database) { self.database = database }

    /// The same, for a link on which only what a filter lets pass may be sent.
    public func filtered(by filter: PushFilter?) -> StoreExecutor {
        var copy = self
        copy.filter = filter
        return copy
    }

    /// Performs one request.
    ///
    /// - Parameters:
    ///   - request: what to do.
    ///   - collection: with which documents.
    ///   - completion: gets the answer, exactly once, on a thread of the store.
    public func perform(
        _ request: StoreRequest, in collection: CollectionName = .default,
        completion: @escaping @Sendable (StoreResult) -> Void
    ) {
        let finish: @Sendable (Result<StoreResult, any Error>) -> Void = { result in
            switch result {
            case .success(let answer): completion(answer)
            case .failure(let error): completion(.failed(Self.kithError(error)))
            }
        }
        if performBlobWrite(request, completion) { return }
        if request.isWrite {
            database.submitWrite(
                { transaction in try Self.write(request, transaction.collection(collection)) }, completion: finish)
        } else {
            database.submitRead(
                { [filter] snapshot in try Self.read(request, snapshot.collection(collection), filter) },
                completion: finish)
        }
    }

    /// Performs one request and waits for the answer; meant for a database whose writer is the caller.
    public func performNow(_ request: StoreRequest, in collection: CollectionName = .default) -> StoreResult {
        let answer = Answer()
        if performBlobWrite(request, { result in answer.result.withLock { $0 = result } }) {
            // Its writer is the caller, so everything is done.
            return answer.result.withLock { $0 } ?? .failed(KithError(.internal, "the store has a thread of its own"))
        }
        do {
            if request.isWrite {
                return try database.writeBlocking { try Self.write(request, $0.collection(collection)) }
            } else {
                return try database.read { try Self.read(request, $0.collection(collection), filter) }
            }
        } catch {
            return .failed(Self.kithError(error))
        }
    }

    private final class Answer: Sendable {
        let result = Mutex<StoreResult?>(nil)
    }

    /// What is done by the writer of a blob, which keeps bytes until they are worth a commit.
    ///
    /// - Returns: whether it was such a request.
    private func performBlobWrite(
        _ request: StoreRequest, _ completion: @escaping @Sendable (StoreResult) -> Void
    ) -> Bool {
        switch request {
        case .beginBlob(let digest, let length, let resumes):
            let key = BlobKey(digest: digest, length: length)
            let begun: @Sendable (Result<BlobWriter, any Error>) -> Void = { [parking] result in
                switch result {
                case .success(let writer):
                    completion(.blobBegun(IncomingBlob(key, writer, parking: parking), offset: writer.byteCount))
                case .failure(let error): completion(.failed(Self.kithError(error)))
                }
            }
            if !resumes {
                begun(Result { try database.makeBlob(digest: digest, length: length) })
            } else if let known = parking.take(key) {
                begun(.success(known))
            } else {
                database.resumeBlob(digest: digest, length: length, completion: begun)
            }
        case .appendBlob(let blob, let bytes):
            // Held until the end, so that nobody goes on with it while it is being written.
            blob.writer.append(bytes) { [blob] result in
                defer { withExtendedLifetime(blob) {} }
                switch result {
                case .success: completion(.written)
                case .failure(let error): completion(.failed(Self.kithError(error)))
                }
            }
        case .finishBlob(let blob):
            blob.writer.finish { [blob] result in
                defer { withExtendedLifetime(blob) {} }
                switch result {
                case .success: completion(.written)
                case .failure(let error): completion(.failed(Self.kithError(error)))
                }
            }
        case .beginStream(let length):
            do {
                completion(.streamBegun(try database.makeBlob(length: length)))
            } catch {
                completion(.failed(error))
            }
        case .appendStream(let writer, let bytes):
            writer.append(bytes) { result in
                switch result {
                case .success: completion(.written)
                case .failure(let error): completion(.failed(Self.kithError(error)))
                }
            }
        case .finishStream(let writer):
            writer.finish { result in
                switch result {
                case .success(let blob): completion(.streamStored(blob))
                case .failure(let error): completion(.failed(Self.kithError(error)))
                }
            }
        default: return false
        }
        return true
    }

    private static func read(
        _ request: StoreRequest, _ snapshot: Snapshot, _ filter: PushFilter?
    ) throws -> StoreResult {
        switch request {
        case .readChanges(let since, let limit, let counts):
            let changes = try snapshot.changes(since: since, limit: limit)
            let remaining = counts ? try snapshot.pendingCount(since: changes.last?.sequence ?? since) : nil
            return try passing(changes, remaining: remaining, snapshot, filter)
        case .readDocuments(let ids):
            let changes = try snapshot.changes(ChangesQuery(documentIDs: ids))
            return try passing(changes, remaining: nil, snapshot, filter)
        case .lookUp(let names):
            return .lookups(try snapshot.lookup(names.map { ($0.id, $0.revision) }))
        case .judge(let proposals): return .judgements(try snapshot.judge(proposals))
        case .readRevisions(let names, let bytesMax):
            var revisions: [Result<RevisionForTransfer?, KithError>] = []
            revisions.reserveCapacity(names.count)
            var bytes = 0
            var reader = RevisionReader(snapshot)
            for wanted in names where bytes <= bytesMax {
                let revision = try revision(wanted, snapshot, &reader, filter)
                bytes += (try? revision.get())?.byteCount ?? 0
                revisions.append(revision)
            }
            return .revisions(revisions)
        case .listCollections: return .collectionNames(try snapshot.collections())
        case .openCollections(let wanted, let bytesMax):
            var room = bytesMax
            return .openedCollections(
                try wanted.map { name, localDocument in
                    guard try snapshot.hasCollection(name) else { return nil }
                    let collection = try snapshot.collection(name)
                    let checkpoint = try collection.localDocument(localDocument)
                    let fits = (checkpoint?.count ?? 0) <= room
                    if fits { room -= checkpoint?.count ?? 0 }
                    return OpenedCollection(
                        name: name, lastSequence: try collection.lastSequence, checkpoint: fits ? checkpoint : nil)
                })
        case .readLocal(let name):
            return .local(try snapshot.localDocument(name))
        case .hasBlobs(let digests):
            return .blobLengths(try digests.map { try snapshot.blob($0)?.length })
        case .readBlobPiece(let digest, let offset, let count):
            guard let blob = try snapshot.blob(digest) else { return .noBlob }
            var bytes: [UInt8] = []
            let end = offset.addingReportingOverflow(UInt64(count))
            try snapshot.readBlob(digest, range: offset..<(end.overflow ? .max : end.partialValue)) { piece in
                bytes.append(contentsOf: piece)
                return true
            }
            return .blobPiece(bytes, length: blob.length)
        case .proveBlob(let digest, let prefix):
            guard try snapshot.blob(digest) != nil else { return .noBlob }
            return .blobProof(try snapshot.blobProof(digest, after: prefix))
        case .readAttachments(let id, let revisions):
            for revision in revisions {
                guard let document = try snapshot.document(id, revision: revision) else { continue }
                return .attachments(document.attachments, of: document.revision)
            }
            return .noAttachments
        case .insert, .supersede, .createCollections, .writeLocal, .writeCheckpoint, .noteRefusals, .forgetRefusals,
            .beginBlob, .appendBlob, .finishBlob, .beginStream, .appendStream, .finishStream:
            throw KithError(.internal, "a write was sent to a reader")
        }
    }

    /// Changes, with what a filter does not let pass.
    private static func passing(
        _ changes: [Change], remaining: Int?, _ snapshot: Snapshot, _ filter: PushFilter?
    ) throws -> StoreResult {
        let last = try snapshot.lastSequence
        guard let filter else { return .changes(changes, remaining: remaining, lastSequence: last) }
        let withheld = try filter.withheld(of: changes, snapshot)
        return .filteredChanges(changes, withheld: withheld, remaining: remaining, lastSequence: last)
    }

    /// One revision of several. A document that is damaged stops no other.
    private static func revision(
        _ wanted: OutgoingRevision, _ snapshot: Snapshot, _ reader: inout RevisionReader, _ filter: PushFilter?
    ) throws -> Result<RevisionForTransfer?, KithError> {
        let (id, ancestors) = (wanted.name.id, wanted.ancestors)
        do {
            if let revision = try reader.read(id, wanted.name.revision, at: wanted.sequence, knowing: ancestors) {
                return .success(revision)
            }
            guard wanted.replacesGone, let winner = try snapshot.winner(of: id) else { return .success(nil) }
            if let filter, let document = try snapshot.document(id), !filter.includes(document) {
                return .success(nil)
            }
            return .success(try reader.read(id, winner.revision, knowing: ancestors))
        } catch let error as KithError where error.code == .damaged {
            return .failure(error)
        }
    }

    private static func write(_ request: StoreRequest, _ transaction: WriteTransaction) throws -> StoreResult {
        switch request {
        case .insert(let revisions):
            return .inserted(try revisions.map { try insert($0, transaction) })
        case .supersede(let supersessions):
            for supersession in supersessions { try transaction.supersede(supersession) }
            return .superseded
        case .createCollections(let names):
            for name in names { try transaction.createCollection(name) }
            return .written
        case .writeLocal(let documents):
            for document in documents { try transaction.setLocalDocument(document.name, document.body) }
            return .written
        case .writeCheckpoint(let write): return try write.perform(transaction)
        case .noteRefusals(let refusals):
            try transaction.noteRefusals(refusals)
            return .written
        case .forgetRefusals(let keys):
            try transaction.forgetRefusals(keys)
            return .written
        case .readChanges, .readDocuments, .lookUp, .judge, .readRevisions, .readLocal, .listCollections,
            .openCollections, .hasBlobs,
            .readBlobPiece, .proveBlob, .beginBlob, .appendBlob, .finishBlob, .beginStream, .appendStream,
            .finishStream,
            .readAttachments:
            throw KithError(.internal, "a read was sent to the writer")
        }
    }

    /// One revision of a batch. What is wrong with this document stays its own affair; what is wrong with the disk
    /// undoes the whole batch, so that nothing half stored is acknowledged.
    private static func insert(
        _ revision: IncomingRevision, _ transaction: WriteTransaction
    ) throws -> Result<Insertion, KithError> {
        do {
            let (outcome, previous) = try transaction.insertion(of: revision)
            return .success(Insertion(outcome: outcome, previousSequence: previous))
        } catch let error as KithError {
            switch error.code {
            case .badDocument, .badName, .tooLarge, .conflict, .badRequest, .attachmentMissing: return .failure(error)
            default: throw error
            }
        }
    }

    private static func kithError(_ error: any Error) -> KithError {
        (error as? KithError) ?? KithError(.internal, "the store failed", cause: error)
    }
}
