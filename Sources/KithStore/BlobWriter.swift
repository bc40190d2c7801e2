import KithDocuments

/// Bytes on their way into a database: a blob that is streamed in, made by `Database.makeBlob`.
///
/// ```swift
/// let writer = try database.makeBlob()
/// for try await piece in upload { try await writer.append(piece) }
/// let blob = try await writer.finish()
/// ```
///
/// It holds about a mebibyte, however long the blob is. Nothing can be read until `finish` has returned; then all of it is
/// durable. What was not finished goes away: at once with `cancel()` or when this object does, an hour after its last byte
/// when the process dies. One call at a time.
public final class BlobWriter: Sendable {
    private struct State: Sendable {
        var buffer: [UInt8] = []
        /// Bytes in the database.
        var stored = 0
        var number: Int?
        var leasedUntil: Int64 = .max
        var isBusy = false
        var isOver = false
    }

    private let database: Database
    private let state = Monitor(State())
    /// Used only by the call that has set `isBusy`.
    private let hasher: RunningDigest
    private let expectedDigest: AttachmentDigest?
    private let expectedLength: UInt64?

    init(_ database: Database, digest: AttachmentDigest?, length: UInt64?) throws(KithError) {
        guard length ?? 0 <= DocumentLimits.attachmentsBytesMax else {
            throw KithError(.tooLarge, "A blob of \(length ?? 0) bytes is larger than one may be")
        }
        self.database = database
        hasher = try RunningDigest()
        expectedDigest = digest
        expectedLength = length
    }

    deinit {
        cancel()
    }

    /// The bytes that were added.
    public var byteCount: UInt64 { state.update { UInt64($0.stored + $0.buffer.count) } }

    /// Whether bytes can be added now: no call is under way, it is neither finished nor given up, and what is stored of it
    /// has not been removed since nobody went on with it.
    public var canContinue: Bool {
        let now = database.blobLease() - StoreLimits.blobLeaseMilliseconds
        return state.update { !$0.isBusy && !$0.isOver && $0.leasedUntil > now }
    }

    /// Adds bytes, and returns when there is room for more: that waits for the disk.
    ///
    /// - Throws: `.tooLarge` when there are more bytes than were announced, or than a blob may have; `.diskFull` and what
    ///   else `Database.write` throws. The blob is then given up.
    public func append(_ bytes: [UInt8]) async throws {
        try await withCheckedThrowingContinuation { continuation in
            append(bytes) { continuation.resume(with: $0) }
        }
    }

    /// Adds bytes: see the function of the same name. `completion` is called when there is room for more, here or on the
    /// writer's thread; only then may the next call be made.
    public func append(_ bytes: [UInt8], completion: @escaping @Sendable (Result<Void, any Error>) -> Void) {
        do {
            try begin()
        } catch {
            return completion(.failure(error))
        }
        do {
            try hasher.digest.update(bytes)
        } catch {
            give(up: error)
            return completion(.failure(error))
        }
        store(bytes[...], completion)
    }

    /// Ends the blob: it is durable when this returns, and stays for an hour until a document uses it.
    ///
    /// Where the same bytes are stored already, they are kept once.
    /// - Throws: `.badDocument` when the bytes have not the digest or length that was announced; what `Database.write`
    ///   throws. The blob is then given up.
    public func finish() async throws -> Blob {
        try await withCheckedThrowingContinuation { continuation in
            finish { continuation.resume(with: $0) }
        }
    }

    /// Ends the blob: see the function of the same name. `completion` is called here or on the writer's thread.
    public func finish(completion: @escaping @Sendable (Result<Blob, any Error>) -> Void) {
        do {
            try begin()
        } catch {
            return completion(.failure(error))
        }
        do {
            let (rest, stored, number) = state.update { ($0.buffer, $0.stored, $0.number) }
            let digest = try AttachmentDigest(bytes: hasher.digest.end())
            let length = UInt64(stored + rest.count)
            if let expectedLength, length != expectedLength {
                throw KithError(.badDocument, "\(expectedLength) bytes of a blob were announced, \(length) came")
            }
            if let expectedDigest, digest != expectedDigest {
                throw KithError(
                    .badDocument,
                    "The bytes of a blob are not those that were announced: \(digest), not \(expectedDigest)",
                    remedy: "Send them again")
            }
            let lease = database.blobLease()
            database.submitWrite { transaction in
                try transaction.finishBlob(
                    number, lastPieces: Self.pieces(rest), after: stored, digest: digest, leasedUntil: lease)
            } completion: { [self] result in
                switch result {
                case .success:
                    state.update { state in
                        state.isOver = true
                        state.number = nil
                        state.buffer = []
                    }
                    completion(.success(Blob(digest: digest, length: length)))
                case .failure(let error):
                    give(up: error)
                    completion(.failure(error))
                }
            }
        } catch {
            give(up: error)
            completion(.failure(error))
        }
    }

    /// Gives the blob up; harmless when it is finished.
    public func cancel() {
        let number: Int? = state.update { state in
            state.isOver = true
            state.buffer = []
            defer { state.number = nil }
            return state.number
        }
        // If this fails, it goes away when its lease has ended.
        if let number { database.submitWrite({ try $0.abandonBlob(number) }, completion: { _ in }) }
    }

    private func begin() throws(KithError) {
        let failure: KithError? = state.update { state in
            if state.isBusy { return KithError(.internal, "Two calls add to one blob at the same time") }
            if state.isOver { return KithError(.internal, "A blob is added to after its end") }
            state.isBusy = true
            return nil
        }
        if let failure { throw failure }
    }

    private func give(up error: any Error) {
        cancel()
        state.update { $0.isBusy = false }
    }

    /// Moves bytes to the buffer, and takes the buffer out when it is full.
    private func take(_ bytes: inout ArraySlice<UInt8>) throws(KithError) -> [UInt8]? {
        let capacity = StoreLimits.blobPieceBytes * StoreLimits.blobPiecesPerCommitMax
        let (full, total): ([UInt8]?, UInt64) = state.update { state in
            let count = min(capacity - state.buffer.count, bytes.count)
            state.buffer.append(contentsOf: bytes.prefix(count))
            bytes = bytes.dropFirst(count)
            let total = UInt64(state.stored + state.buffer.count)
            // The last piece of all may be a full one, but is left for `finish`.
            guard state.buffer.count == capacity, !bytes.isEmpty else { return (nil, total) }
            defer { state.buffer = [] }
            return (state.buffer, total)
        }
        guard total <= expectedLength ?? DocumentLimits.attachmentsBytesMax else {
            throw KithError(
                .tooLarge, "A blob has more bytes than \(expectedLength == nil ? "it may have" : "were announced")")
        }
        return full
    }

    /// Moves bytes to the buffer, and stores it as often as it is full.
    private func store(
        _ bytes: ArraySlice<UInt8>, _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        var rest = bytes
        let full: [UInt8]?
        do {
            full = try take(&rest)
        } catch {
            give(up: error)
            return completion(.failure(error))
        }
        guard let full else {
            state.update { $0.isBusy = false }
            return completion(.success(()))
        }
        let (number, stored) = state.update { ($0.number, $0.stored) }
        let lease = database.blobLease()
        database.submitWrite { transaction in
            try transaction.extendBlob(number, by: Self.pieces(full), after: stored, leasedUntil: lease)
        } completion: { [self, rest] result in
            do {
                try note(try result.get(), full.count, lease)
                store(rest, completion)
            } catch {
                give(up: error)
                completion(.failure(error))
            }
        }
    }

    /// Notes that bytes are in the database, under the number of the blob.
    private func note(_ number: Int, _ count: Int, _ lease: Int64) throws(KithError) {
        let isOver = state.update { state in
            if !state.isOver { state.number = number }
            state.stored += count
            state.leasedUntil = lease
            return state.isOver
        }
        guard isOver else { return }
        // Cancelled meanwhile.
        database.submitWrite({ try $0.abandonBlob(number) }, completion: { _ in })
        throw KithError(.closed, "A blob was given up while bytes were added to it")
    }

    private static func pieces(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
        stride(from: 0, to: bytes.count, by: StoreLimits.blobPieceBytes).map {
            bytes[$0..<min($0 + StoreLimits.blobPieceBytes, bytes.count)]
        }
    }
}

/// The running hash of a blob.
///
/// `@unchecked Sendable`: a `BlobWriter` lets only one call at a time use it, each after the other by way of a lock.
private final class RunningDigest: @unchecked Sendable {
    let digest: MessageDigest

    init() throws(KithError) {
        digest = try MessageDigest(.sha1)
        try digest.begin()
    }
}

extension MessageDigest {
    fileprivate func update(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { try add($0) }
    }
}
