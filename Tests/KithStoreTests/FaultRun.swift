import CSQLite
import KithDocuments
import KithStore

/// A database that a scripted workload is played on while the file system fails, and the ledger of it.
///
/// Everything runs on one thread, so that each run makes the same calls.
final class FaultRun {
    /// One step of the script. It may throw a `KithError` where a fault or its consequences hit.
    typealias Step = @Sendable (FaultRun) throws -> Void

    let path: String
    let vfs: FaultVFS
    private let isDurable: Bool
    private var database: Database?
    private(set) var ledger: Ledger
    /// Codes of the errors that the steps met.
    private(set) var errors: Set<ErrorCode> = []
    /// What must not happen whatever fails.
    private(set) var faults: [String] = []

    /// - Parameter ledger: what a file that is there already holds.
    init(path: String, vfs: FaultVFS, isDurable: Bool = true, ledger: Ledger = Ledger()) {
        self.path = path
        self.vfs = vfs
        self.isDurable = isDurable
        self.ledger = ledger
    }

    /// Plays a script; after a step that failed it goes on with the next.
    ///
    /// - Parameter calls: the call at which the power is cut: nothing runs afterwards.
    func play(_ script: [Step], untilCall calls: Int = .max) {
        for step in script where vfs.count < calls {
            do {
                try step(self)
            } catch let error as KithError {
                expect(error)
            } catch {
                faults.append("\(error)")
            }
        }
    }

    /// An error that came while the disk failed: a write that needs one that failed conflicts, or finds nothing.
    private func expect(_ error: KithError) {
        errors.insert(error.code)
        let expected: [ErrorCode] = [.inputOutput, .diskFull, .conflict, .notFound, .closed]
        if !expected.contains(error.code) { faults.append("\(error.code): \(error)") }
    }

    // MARK: Steps

    func open() throws {
        var options = DatabaseOptions(writer: .caller, isDurable: isDurable, clock: { 1000 })
        options.vfsName = vfs.name
        let database = try Database(
            path: path, name: DatabaseName("test"), create: ledger.publicID == nil, options: options)
        self.database = database
        ledger.publicID = database.publicID
    }

    func close() {
        database?.close()
        database = nil
    }

    /// Writes, and notes whether that was acknowledged.
    func write(_ body: @escaping @Sendable (WriteTransaction) throws -> [Ledger.Write]) throws {
        guard let database else { throw KithError(.closed, "not open") }
        let intended = Shared<[Ledger.Write]>([])
        do {
            let writes = try database.writeBlocking { transaction in
                let writes = try body(transaction)
                intended.withLock { $0 = writes }
                return writes
            }
            ledger.acknowledge(writes)
        } catch {
            ledger.fail(intended.withLock { $0 })
            throw error
        }
    }

    /// Writes several bodies that share a commit; those that throw are undone alone.
    func writeTogether(_ bodies: [@Sendable (WriteTransaction) throws -> [Ledger.Write]]) throws {
        guard let database else { throw KithError(.closed, "not open") }
        let outcomes = Shared<[(intended: [Ledger.Write], isAcknowledged: Bool)]>([])
        // What is submitted inside a body waits for it, and is taken into the same transaction.
        database.submitWrite(
            { _ in
                for body in bodies {
                    let intended = Shared<[Ledger.Write]>([])
                    database.submitWrite({ transaction in
                        let writes = try body(transaction)
                        intended.withLock { $0 = writes }
                    }) { result in
                        let isAcknowledged = (try? result.get()) != nil
                        outcomes.withLock { $0.append((intended.withLock { $0 }, isAcknowledged)) }
                    }
                }
            }, completion: { _ in })
        for outcome in outcomes.withLock({ $0 }) {
            if outcome.isAcknowledged { ledger.acknowledge(outcome.intended) } else { ledger.fail(outcome.intended) }
        }
    }

    func setLocalDocument(_ value: String) throws {
        guard let database else { throw KithError(.closed, "not open") }
        do {
            try database.writeBlocking { try $0.setLocalDocument("checkpoint", bytes(value)) }
            ledger.acknowledge(local: value)
        } catch {
            ledger.fail(local: value)
            throw error
        }
    }

    /// Notes that a peer has refused a document.
    func refuse(_ name: String) throws {
        guard let database else { throw KithError(.closed, "not open") }
        let key = DocumentRefusal.Key(peer: "PEER", collection: .default, id: name, isOutgoing: true)
        let refusal = DocumentRefusal(
            key: key, revision: "1-aa", isByPeer: true, code: 413, reason: "too large", wallSeconds: 1)
        try database.writeBlocking { try $0.noteRefusals([refusal]) }
        ledger.acknowledge(refused: name)
    }

    /// Removes documents, and notes whether that was acknowledged.
    func remove(
        _ isRemoved: (Ledger.Write) -> Bool, _ body: @escaping @Sendable (WriteTransaction) throws -> Void
    ) throws {
        guard let database else { throw KithError(.closed, "not open") }
        do {
            try database.writeBlocking(body)
            ledger.remove(isCertain: true, isRemoved)
        } catch {
            ledger.remove(isCertain: false, isRemoved)
            throw error
        }
    }

    /// Lets a document expire.
    func expire(_ name: String) throws {
        guard let database else { throw KithError(.closed, "not open") }
        // When it goes is not certain: opening the file again may have it done too.
        ledger.remove(isCertain: false) { $0.collection == .default && $0.id.text == name }
        try database.writeBlocking { try $0.setExpiry(id(name), at: 500) }
        try database.doHousekeeping()
    }

    /// Streams a blob of several pieces in, and writes a document that uses it.
    func stream(_ name: String) throws {
        guard let database else { throw KithError(.closed, "not open") }
        let blob = try database.streamBlobHere(Array(repeating: UInt8(ascii: "f"), count: 300_000))
        try write { [try Ledger.attach($0, name, blob)] }
    }

    private static let reel = [UInt8](repeating: UInt8(ascii: "r"), count: 270_000)

    private static func reelDigest() throws -> AttachmentDigest {
        try AttachmentDigest(parsing: "sha1-eOIJi1/IUDpGMtWAhxoj92ZXinY=")
    }

    /// Leaves the beginning of a blob, of which nothing is promised, and closes the database.
    func beginReel() throws {
        guard let database else { throw KithError(.closed, "not open") }
        defer { close() }
        try database.leaveBeginningHere(
            Array(Self.reel[..<262_144]), of: Blob(digest: Self.reelDigest(), length: UInt64(Self.reel.count)))
    }

    /// Goes on with it, however much the disk has kept, and attaches it to a document.
    func endReel(_ name: String) throws {
        guard let database else { throw KithError(.closed, "not open") }
        let (bytes, outcome) = (Self.reel, Shared<Result<Blob, any Error>?>(nil))
        database.resumeBlob(digest: try Self.reelDigest(), length: UInt64(bytes.count)) { writer in
            do {
                let writer = try writer.get()
                writer.append(Array(bytes[Int(writer.byteCount)...])) { appended in
                    guard case .failure(let error) = appended else {
                        return writer.finish { result in outcome.withLock { $0 = result } }
                    }
                    outcome.withLock { $0 = .failure(error) }
                }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
        guard let blob = try outcome.withLock({ $0 })?.get() else { throw KithError(.internal, "no answer") }
        try write { [try Ledger.attach($0, name, blob)] }
    }

    /// Drops what is no longer needed, and gives the room back.
    func compact() throws {
        guard let database else { throw KithError(.closed, "not open") }
        _ = try database.compactHere()
    }

    /// Moves the log into the file, by another connection, so that the database goes on with an emptied log.
    func checkpoint() {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, vfs.name) == SQLITE_OK else { return }
        sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
    }

    /// The fault is over: writing has to work at once, without opening the file again, unless it could not be opened.
    func recover() {
        do {
            if database == nil { try open() }
            try write { [try Ledger.put($0, "recovered", #"{"again":true}"#)] }
        } catch {
            faults.append("after the fault: \(error)")
        }
    }
}

extension Ledger {
    /// Ends a conflict with a merged body.
    static func resolve(_ transaction: WriteTransaction, _ name: String) throws -> [Write] {
        let document = try id(name)
        guard let stored = try transaction.document(document), !stored.conflicts.isEmpty else {
            throw KithError(.notFound, name)
        }
        try transaction.resolve(
            document, winner: stored.revision, losers: stored.conflicts, body: bytes(#"{"merged":true}"#))
        return try transaction.document(document)?.leaves.map {
            Write(id: document, revision: $0.revision, sequence: 0)
        } ?? []
    }

    /// A document in conflict whose versions parted at a body that is kept.
    static func contest(_ transaction: WriteTransaction, _ name: String) throws -> [Write] {
        let document = try id(name)
        let first = try transaction.put(document, body: bytes(#"{"a":1,"b":1}"#), parent: nil).revision
        let own = try transaction.put(document, body: bytes(#"{"a":2,"b":1}"#), parent: first)
        let other = try revision("2-" + String(repeating: "0", count: 40))
        let outcome = try transaction.insert(
            IncomingRevision(id: document, revision: other, history: [first], body: bytes(#"{"a":1,"b":2}"#)))
        guard case .inserted(let sequence) = outcome else { throw KithError(.conflict, name) }
        return [
            Write(id: document, revision: first, sequence: 0), Write(id: document, revision: own.revision, sequence: 0),
            Write(id: document, revision: other, sequence: sequence),
        ]
    }

    /// Merges a document in conflict by itself.
    static func merge(_ transaction: WriteTransaction, _ name: String) throws -> [Write] {
        let document = try id(name)
        let revision: RevisionID?
        do {
            revision = try transaction.mergeConflict(document)
        } catch ErrorCode.cannotMerge {
            // The setting by which the old body is kept has failed.
            throw KithError(.notFound, name)
        }
        guard revision != nil, let merged = try transaction.document(document),
            merged.conflicts.isEmpty, text(merged.body) == #"{"a":2,"b":2}"#
        else { throw KithError(.notFound, name) }
        return merged.leaves.map { Write(id: document, revision: $0.revision, sequence: 0) }
    }

    /// Writes a document on its winner.
    static func put(
        _ transaction: WriteTransaction, _ name: String, _ body: String, in collection: CollectionName = .default
    ) throws -> Write {
        let transaction = try transaction.collection(collection)
        let document = try id(name)
        let parent = try transaction.document(document)?.revision
        let (revision, sequence) = try transaction.put(document, body: bytes(body), parent: parent)
        return Write(collection: collection, id: document, revision: revision, sequence: sequence)
    }

    /// Writes a document with an attachment of its own: the check of the file finds the one without the other.
    static func attach(_ transaction: WriteTransaction, _ name: String) throws -> Write {
        try attach(transaction, name, try transaction.addBlob(bytes(String(repeating: name, count: 1000))))
    }

    /// Writes a document whose attachment is stored already.
    static func attach(_ transaction: WriteTransaction, _ name: String, _ blob: Blob) throws -> Write {
        let document = try id(name)
        let attachment = try DocumentAttachment(
            name: "text", digest: blob.digest, length: blob.length, contentType: "text/plain", revpos: 1)
        let (revision, sequence) = try transaction.put(
            document, body: bytes("{}"), parent: nil, attachments: AttachmentList([attachment]))
        return Write(id: document, revision: revision, sequence: sequence)
    }

    /// Deletes a document.
    static func delete(_ transaction: WriteTransaction, _ name: String) throws -> Write {
        let document = try id(name)
        guard let parent = try transaction.document(document)?.revision else { throw KithError(.notFound, name) }
        let (revision, sequence) = try transaction.delete(document, parent: parent)
        return Write(id: document, revision: revision, sequence: sequence)
    }

    /// A branch of a document that begins at its root.
    static func insert(_ transaction: WriteTransaction, _ name: String, _ number: String) throws -> Write {
        let document = try id(name)
        let new = try revision(number + String(repeating: "f", count: 40))
        let outcome = try transaction.insert(IncomingRevision(id: document, revision: new, body: bytes(#"{"b":1}"#)))
        guard case .inserted(let sequence) = outcome else { throw KithError(.conflict, "it is there") }
        return Write(id: document, revision: new, sequence: sequence)
    }
}
