import KithDocuments
import KithReplication
import KithStore

/// Two sessions over a pipe in one process, with real stores: everything that can move is moved at once.
final class SessionPair {
    let databases: [Database]
    private let names: (Int, Int)
    /// What each of the two allows; for the sessions made next.
    var directions: [ReplicationDirections]
    let executors: [StoreExecutor]
    private(set) var sessions: [ReplicationSession] = []
    private(set) var seconds = 0.0
    /// The most bytes of blobs that one session held at any moment.
    private(set) var blobBytesHeldMost = 0
    /// What the active one asks for; for the sessions made next.
    var isContinuous = true
    var documentIDs: Set<DocumentID>?
    /// What is allowed where the link is one beside that of the pair.
    var pairDirections: ReplicationDirections?
    /// What each of the two lets go to the other; for the sessions made next.
    var filters: [PushFilter?] = [nil, nil]
    /// Called after each thing that moved.
    var onMove: (() -> Void)?
    private var held: [[ReplicationSession.PendingRequest]] = [[], []]
    /// Frames passed, in each direction.
    private(set) var frames = [0, 0]

    /// - Parameter names: who the two are where there are more, so that each pair has its own checkpoint.
    init(
        limits: ReplicationLimits = ReplicationLimits(), databases: [Database]? = nil, names: (Int, Int) = (0, 1),
        directions: [ReplicationDirections] = [.both, .both]
    ) throws {
        self.names = names
        self.directions = directions
        self.databases = try databases ?? [Self.database(), Self.database()]
        executors = self.databases.map { StoreExecutor(database: $0) }
        try connect(limits: limits)
    }

    static func database() throws -> Database {
        var options = DatabaseOptions()
        options.writer = .caller
        return try Database(path: ":memory:", name: DatabaseName("pair"), create: true, options: options)
    }

    var now: ReplicationInstant { ReplicationInstant(monotonicSeconds: seconds, wallSeconds: 1_800_000_000) }

    /// Makes new sessions, as after a lost connection.
    func connect(limits: ReplicationLimits = ReplicationLimits()) throws {
        frames = [0, 0]
        held = [[], []]
        sessions = [ReplicationRole.active, .passive].enumerated().map { index, role in
            let directions = directions[index]
            let tag = filters[index].map { "f-\($0.name)" }
            return ReplicationSession(
                ReplicationConfiguration(
                    role: role, checkpointName: "cp-\(names.0)-\(names.1)\(tag ?? "")",
                    progressName: "progress/other",
                    peerIsKith: true, directions: directions, isContinuous: role == .passive || isContinuous,
                    documentIDs: role == .active ? documentIDs : nil, pairDirections: pairDirections, filterTag: tag,
                    limits: limits))
        }
        for (session, database) in zip(sessions, databases) {
            session.start(lastSequence: try database.read { try $0.lastSequence }, now: now)
        }
    }

    /// Moves frames and store requests until nothing moves.
    ///
    /// - Parameter holds: says which requests the store does not get yet; the next run has them first.
    func run(
        stoppingAfterFrames limit: Int = .max, holding holds: (_ index: Int, StoreRequest) -> Bool = { _, _ in false }
    ) throws {
        var waiting = held
        held = [[], []]
        var moved = true
        while moved {
            moved = false
            for index in 0..<2 {
                let requests = waiting[index] + sessions[index].takeStoreRequests()
                waiting[index] = []
                for pending in requests {
                    if holds(index, pending.request) {
                        held[index].append(pending)
                        continue
                    }
                    moved = true
                    let result = executors[index].filtered(by: filters[index]).performNow(
                        pending.request, in: pending.collection)
                    sessions[index].complete(pending.token, result, now: now)
                    noteHeld()
                    try noteChange(index)
                }
                var frame: [UInt8] = []
                while frames[0] + frames[1] < limit, sessions[index].appendNextFrame(to: &frame) {
                    moved = true
                    frames[index] += 1
                    frame.withUnsafeBytes { sessions[1 - index].receive(frame: $0, now: now) }
                    frame.removeAll()
                    noteHeld()
                }
            }
        }
    }

    private func noteHeld() {
        onMove?()
        blobBytesHeldMost = max(blobBytesHeldMost, sessions[0].blobBytesHeld, sessions[1].blobBytesHeld)
    }

    /// Lets time pass, then moves what that brings.
    func pass(seconds more: Double, stoppingAfterFrames limit: Int = .max) throws {
        seconds += more
        for session in sessions { session.tick(now: now) }
        try run(stoppingAfterFrames: limit)
    }

    /// Tells a session how far the collections of its database are.
    func noteChange(_ index: Int) throws {
        let sequences = try databases[index].read { snapshot in
            try snapshot.collections().map { ($0, try snapshot.collection($0).lastSequence) }
        }
        // An empty one is not told of: nothing was committed in it.
        let changed = Dictionary(uniqueKeysWithValues: sequences.filter { $0.1 > 0 })
        sessions[index].databaseChanged(changed, now: now)
    }

    @discardableResult
    func put(
        _ index: Int, _ id: String, _ body: String, parent: RevisionID? = nil, isDeleted: Bool = false,
        files: [String: [UInt8]] = [:], in collection: CollectionName = .default
    ) throws -> RevisionID {
        let id = try DocumentID(id)
        let written = try databases[index].writeBlocking { transaction in
            try transaction.createCollection(collection)
            let transaction = try transaction.collection(collection)
            let attachments = try files.map { name, bytes in
                let blob = try transaction.addBlob(bytes)
                return try DocumentAttachment(
                    name: name, digest: blob.digest, length: blob.length, contentType: "image/png", revpos: 1)
            }
            return try transaction.put(
                id, body: Array(body.utf8), parent: parent, isDeleted: isDeleted,
                attachments: AttachmentList(attachments)
            ).revision
        }
        if !sessions.isEmpty { try noteChange(index) }
        return written
    }

    /// The bytes of an attachment of the winner, or `nil` where there is none.
    func file(_ index: Int, _ id: String, _ name: String) throws -> [UInt8]? {
        try databases[index].read { snapshot in
            guard let attachment = try snapshot.document(DocumentID(id))?.attachments[name] else { return nil }
            var all: [UInt8] = []
            try snapshot.readBlob(attachment.digest) { bytes in
                all.append(contentsOf: bytes)
                return true
            }
            return all
        }
    }

    func digests() throws -> [DatabaseDigest] { try databases.map { try $0.read { try $0.digest() } } }
}
