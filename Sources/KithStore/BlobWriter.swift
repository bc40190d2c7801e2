import KithDocuments

/// Bytes on their way into a database: a blob that is streamed in, made by `Database.makeBlob`.
///
/// ```swift
/// let writer = try database.makeBlob()
/// for try await piece in upload { try await writer.append(piece) }
/// let blob = try await writer.finish()
/// ```
///
/// It holds at most two mebibytes, however long the blob is: one that is being stored while the other fills. Nothing can be
/// read until `finish` has returned; then all of it is durable. What was not finished goes away: at once with `cancel()`, and
/// when this object does; but if digest and length were announced, what is stored can be taken up again for a day, also by
/// another process (`Database.resumeBlob`); so it is after a fault of the store too. One call at a time.
public final class BlobWriter: Sendable {
    /// A call that goes on when the store has taken what it is storing.
    enum Waiting: Sendable {
        case append(ArraySlice<UInt8>, @Sendable (Result<Void, any Error>) -> Void)
        case finish(@Sendable (Result<Blob, any Error>) -> Void)
    }

    struct State: Sendable {
        var buffer: [UInt8] = []
        /// Bytes that are on their way into the database.
        var storing = 0
        /// Bytes in the database.
        var stored = 0
        var number: Int?
        var leasedUntil: Int64 = .max
        var waiting: Waiting?
        /// What the store said to bytes whose caller has gone on.
        var failure: (any Error)?
        var isBusy = false
        var isOver = false
        var isResting = false

        var byteCount: Int { stored + storing + buffer.count }
    }

    let database: Database
    let state: Monitor<State>
    /// Used only by the call that has set `isBusy`.
    let hasher: RunningDigest
    let expectedDigest: AttachmentDigest?
    let expectedLength: UInt64?

    init(_ database: Database, digest: AttachmentDigest?, length: UInt64?) throws(KithError) {
        guard length ?? 0 <= DocumentLimits.attachmentsBytesMax else {
            throw KithError(.tooLarge, "A blob of \(length ?? 0) bytes is larger than one may be")
        }
        self.database = database
        hasher = try RunningDigest()
        state = Monitor(State())
        expectedDigest = digest
        expectedLength = length
    }

    /// Goes on with a beginning that is in the database, and hashed.
    init(_ database: Database, _ beginning: BlobBeginning) {
        self.database = database
        hasher = beginning.hasher
        state = Monitor(
            State(stored: beginning.stored, number: beginning.number, leasedUntil: beginning.leasedUntil))
        expectedDigest = beginning.expected.digest
        expectedLength = beginning.expected.length
    }

    deinit { letGo() }

    /// What it is to become, where that is known.
    var expected: Blob? {
        guard let expectedDigest, let expectedLength else { return nil }
        return Blob(digest: expectedDigest, length: expectedLength)
    }

    /// The bytes that were added.
    public var byteCount: UInt64 { state.update { UInt64($0.byteCount) } }

    /// Whether bytes can be added now: no call is under way, it is neither finished nor given up, and what is stored of it
    /// has not been removed since nobody went on with it.
    public var canContinue: Bool {
        let now = database.clock()
        return state.update { state in
            !state.isBusy && !state.isOver && state.failure == nil && state.leasedUntil > now
        }
    }

    /// Adds bytes, and returns when there is room for more: where the disk is slow, that waits for it.
    ///
    /// - Throws: `.tooLarge` when there are more bytes than were announced, or than a blob may have; `.diskFull` and what
    ///   else `Database.write` throws, also for bytes of an earlier call. The blob is then given up.
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
            try hasher.add(bytes)
        } catch {
            letGo(after: error)
            state.update { $0.isBusy = false }
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
        let mustWait = state.update { state in
            if state.storing > 0 { state.waiting = .finish(completion) }
            return state.storing > 0
        }
        if !mustWait { storeRest(completion) }
    }

    /// Gives the blob up; harmless when it is finished.
    public func cancel() {
        let (number, stored) = end()
        // If this fails, it goes away when its lease has ended.
        if let number { abandon(number, after: stored) }
    }

    /// Gives the blob up, and with it what else is here of the same one: for bytes that others have brought and that are wrong.
    package func cancelWithOthers() {
        cancel()
        guard let expected else { return }
        database.submitWrite(
            { [database] in try $0.abandonBeginnings(of: expected, database.blobClaims.update { $0 }) },
            completion: { _ in })
    }

    /// Says whether it waits for somebody to go on. While it does, what is stored of it may be dropped to make room, which the
    /// next bytes find out.
    package func setResting(_ isResting: Bool) {
        let number: Int? = state.update { state in
            state.isResting = isResting
            return state.number
        }
        guard let number else { return }
        database.blobClaims.update { $0[number] = isResting ? .resting : .adding }
        guard isResting else { return }
        database.submitWrite({ [database] in try database.tidyBeginnings($0) }, completion: { _ in })
    }

    func abandon(_ number: Int, after stored: Int) {
        database.blobClaims.update { $0[number] = nil }
        database.submitWrite({ try $0.abandonBlob(number, after: stored) }, completion: { _ in })
    }

    /// Ends it, since it was let go of or for a fault that is not one of its bytes: what is stored waits for whoever goes on,
    /// if it is known what it is to become.
    func letGo(after error: (any Error)? = nil) {
        guard expected != nil else { return cancel() }
        let (number, _) = end()
        guard let number else { return }
        let code = (error as? KithError)?.code
        // What somebody else has taken up is no longer this one's.
        if code == .notFound { return database.blobClaims.update { $0[number] = nil } }
        database.leaveBeginning(number, isFull: code == .diskFull)
    }

    private func end() -> (number: Int?, stored: Int) {
        state.update { state in
            state.isOver = true
            state.buffer = []
            defer { state.number = nil }
            return (state.number, state.stored)
        }
    }

    private func begin() throws {
        try state.update { state in
            if state.isBusy { throw KithError(.internal, "Two calls add to one blob at the same time") }
            if let failure = state.failure {
                state.failure = nil
                throw failure
            }
            if state.isOver { throw KithError(.internal, "A blob is added to after its end") }
            state.isBusy = true
        }
    }

    func giveUp() {
        cancel()
        state.update { $0.isBusy = false }
    }
}
