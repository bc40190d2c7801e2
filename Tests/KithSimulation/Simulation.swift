import KithDocuments
import KithReplication
import KithStore

/// A whole mesh in one process on one seed: real stores and real replication machines, with a network, clocks and faults
/// that the seed decides. DESIGN.md says what it goes through and what must hold.
public final class Simulation {
    enum Event {
        case act(node: Int)
        case deliver(link: Int, end: Int, bytes: [UInt8])
        case performStore(link: Int, end: Int, incarnation: Int, ReplicationSession.PendingRequest)
        case completeStore(link: Int, end: Int, incarnation: Int, token: UInt64, StoreResult)
        case tick(link: Int, end: Int)
        case notice(node: Int)
        case cut(pair: Int, seconds: Double)
        case heal(pair: Int)
        case setDirections(pair: Int)
        case setFilters(pair: Int)
        /// Replicates once, beside the link of the pair.
        case dialOnce(pair: Int, isReversed: Bool, documentIDs: Set<DocumentID>?)
        case connectClient(Int)
        case cutClient(Int)
        case actClient(Int)
        case stall(pair: Int, ends: [Int], seconds: Double)
        /// A node reads what comes over a link at a trickle, from now on or, with no pause, as fast as it comes.
        case slowDown(pair: Int, end: Int, pauseSeconds: Double)
        case read(link: Int, end: Int)
        case loseLink(link: Int, end: Int)
        case dial(pair: Int)
        case crash(node: Int, downSeconds: Double)
        case restart(node: Int)
        /// Without a number of pages that are left, every write fails.
        case fillDisk(node: Int, pagesLeft: Int?, seconds: Double)
        case freeDisk(node: Int)
        case merge(node: Int)
        case setClock(node: Int, errorMilliseconds: Int64)
        case backUp(node: Int)
        case replaceDatabase(node: Int, Replacement, downSeconds: Double)
        case settle
        case editPurged
    }

    /// What is in place of a database afterwards.
    enum Replacement {
        /// A new one: it was deleted and made again.
        case empty
        /// Its last backup, restored.
        case restored
        /// The file of its last backup, put in place by hand.
        case backupFile
        /// A copy of another node's last backup.
        case copy(ofNode: Int)
    }

    struct Pair {
        let active: Int
        let passive: Int
        var isCut = false
        /// What the active and the passive node allow.
        var directions = [ReplicationDirections.both, .both]
        /// What each lets go to the other.
        var filters: [SimulatedFilter?] = [nil, nil]
        /// Until then nothing comes through in one direction at least, so that no link can be opened.
        var stalledUntilSeconds = 0.0
        /// How long each end takes to read a piece.
        var readPauseSeconds = [0.0, 0.0]
        var link: Int?
        var isDialling = false
    }

    let configuration: SimulationConfiguration
    let keepsLog: Bool
    var random: SeededGenerator
    var queue = EventQueue<Event>()
    var seconds = 0.0
    var nodes: [SimulatedNode] = []
    var pairs: [Pair] = []
    var links: [SimulatedLink] = []
    /// Links beside those that pairs keep, while they are open.
    var onceLinks: [Int] = []
    var clients: [SimulatedClient] = []
    /// Revisions whose writers were told that they are stored.
    var acknowledged: [RevisionName] = []
    /// Those of them that only a database had which is gone.
    var excused: Set<RevisionName> = []
    /// Documents that a node has forgotten on purpose, so that others need not find them there.
    var purged: Set<DocumentID> = []
    var report: SimulationReport
    var sabotageLeft = 1
    /// The collections of the database, `_default` first; each node makes one when something is written to it there.
    let collections: [CollectionName]
    let files: SimulatedFiles
    let folder = SimulatedFolder()
    /// Sessions of nodes that crashed: were they let go of, they would clean up in the store, which a crash does not.
    var crashed: [ReplicationSession] = []
    /// And what those had left to the next ones.
    var crashedExecutors: [StoreExecutor] = []

    /// Where the right time begins: in 2027, far enough from zero for a clock that is set back.
    static let startSeconds: Int64 = 1_800_000_000

    /// Prepares a run.
    public init(_ configuration: SimulationConfiguration, keepsLog: Bool = false) throws {
        self.configuration = configuration
        self.keepsLog = keepsLog
        self.random = SeededGenerator(seed: configuration.seed)
        self.report = SimulationReport(seed: configuration.seed)
        self.files = SimulatedFiles(seed: configuration.seed, large: configuration.hasLargeAttachment)
        self.collections = try (0..<configuration.collectionCount).map { number in
            number == 0 ? .default : try CollectionName("clinic.part-\(number)")
        }
        for index in 0..<configuration.topology.nodeCount {
            let limits = configuration.revisionsLimits
            let node = try SimulatedNode(
                index: index, revisionsLimit: limits.isEmpty ? nil : limits[index % limits.count],
                merges: random.chance(configuration.mergingShare))
            nodes.append(node)
        }
        for edge in configuration.topology.edges {
            // Who dials must not always be the one with the lower number.
            pairs.append(
                random.chance(0.5)
                    ? Pair(active: edge.first, passive: edge.second) : Pair(active: edge.second, passive: edge.first))
        }
    }

    /// Runs it to the end and says what was wrong.
    public func run() async throws -> SimulationReport {
        defer {
            for node in nodes { node.database.close() }
            folder.remove()
        }
        setTime(0)
        plan()
        while let (time, event) = queue.removeFirst() {
            guard time <= configuration.busySeconds + configuration.settleSeconds else { break }
            setTime(time)
            switch event {
            case .backUp(let node): try await backUp(nodes[node])
            case .replaceDatabase(let node, let replacement, let downSeconds):
                try await replaceDatabase(of: nodes[node], replacement, downSeconds)
            default: try handle(event)
            }
        }
        try check()
        return report
    }

    private func setTime(_ time: Double) {
        seconds = time
        for node in nodes { node.setTime(milliseconds: Self.startSeconds * 1_000 + Int64(time * 1_000)) }
    }

    /// The time as a session on this node is told.
    func now(_ node: Int) -> ReplicationInstant {
        ReplicationInstant(
            monotonicSeconds: seconds,
            wallSeconds: Self.startSeconds + Int64(seconds) + nodes[node].clockErrorMilliseconds / 1_000)
    }

    func note(_ text: @autoclosure () -> String) {
        guard keepsLog else { return }
        let text = text()
        if !text.isEmpty { report.log.append("\(seconds): \(text)") }
    }

    /// What fails for want of room was not done, and nobody was told that it was.
    private func unlessDiskIsFull(_ node: SimulatedNode, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as KithError where error.code == .diskFull {
            note("node \(node.index) has no room: \(error.message)")
            report.fullDisks += 1
        }
    }

    private func handle(_ event: Event) throws {
        switch event {
        case .act(let node): try unlessDiskIsFull(nodes[node]) { try act(on: nodes[node]) }
        case .deliver(let link, let end, let bytes): try deliver(links[link], end, bytes)
        case .performStore(let link, let end, let incarnation, let request):
            try performStore(links[link], end, incarnation, request)
        case .completeStore(let link, let end, let incarnation, let token, let result):
            let node = nodes[links[link].ends[end].node]
            guard node.incarnation == incarnation, let session = links[link].ends[end].session else { return }
            report.mix(token)
            session.complete(token, result, now: now(node.index))
            try pump(links[link], end)
        case .tick(let link, let end):
            links[link].ends[end].scheduledTickSeconds = nil
            links[link].ends[end].session?.tick(now: now(links[link].ends[end].node))
            try pump(links[link], end)
        case .notice(let node): try noticeChanges(nodes[node])
        case .cut(let pair, let duration): cut(pair, duration)
        case .heal(let pair):
            note("pair \(pair) is whole")
            pairs[pair].isCut = false
            redial(pair)
        case .setDirections(let pair): setDirections(pair)
        case .setFilters(let pair): setFilters(pair)
        case .dialOnce(let pair, let isReversed, let ids):
            try dialOnce(pair, isReversed: isReversed, documentIDs: ids)
        case .connectClient(let client): try connectClient(clients[client])
        case .cutClient(let client): cutClient(clients[client])
        case .actClient(let client): try act(on: clients[client])
        case .stall(let pair, let ends, let duration): stall(pair, ends, duration)
        case .slowDown(let pair, let end, let pauseSeconds): try slowDown(pair, end, pauseSeconds)
        case .read(let link, let end): try pump(links[link], end)
        case .loseLink(let link, let end): loseLink(links[link], end)
        case .dial(let pair): try dial(pair)
        case .crash(let node, let downSeconds): crash(nodes[node], downSeconds)
        case .restart(let node):
            note("node \(node) starts")
            nodes[node].isUp = true
            mergeSoon(nodes[node])
            for pair in pairs.indices where pairs[pair].active == node || pairs[pair].passive == node { redial(pair) }
        case .fillDisk(let node, let pagesLeft, let duration):
            note("the disk of node \(node) has room for \(pagesLeft ?? 0) pages")
            if let pagesLeft { try nodes[node].limitDisk(pagesLeft: pagesLeft) } else { nodes[node].isDiskFull = true }
            queue.add(.freeDisk(node: node), at: min(seconds + duration, configuration.busySeconds))
        case .freeDisk(let node):
            note("the disk of node \(node) has room again")
            nodes[node].isDiskFull = false
            try nodes[node].limitDisk(pagesLeft: nil)
            mergeSoon(nodes[node])
        case .merge(let node): try unlessDiskIsFull(nodes[node]) { try merge(on: nodes[node]) }
        case .setClock(let node, let error):
            note("the clock of node \(node) is wrong by \(error) ms")
            nodes[node].clockErrorMilliseconds = error
        case .settle: try settle()
        case .editPurged: try editPurged()
        case .backUp, .replaceDatabase: throw SimulationError("\(event) is for run()")
        }
    }
}
