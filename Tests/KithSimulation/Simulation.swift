import KithDocuments
import KithReplication
import KithStore

/// A whole mesh in one process on one seed: real stores and real replication machines, with a network, a clock and
/// faults that the seed decides.
///
/// It lets nodes write, edit and delete the same documents while links are cut and nodes crash; then everything is
/// healed, and after a while every node must have the same documents, revisions and winners, nothing that was
/// acknowledged may be missing, every session must be idle and silent.
public final class Simulation {
    enum Event {
        case write(node: Int)
        case deliver(link: Int, end: Int, frame: [UInt8])
        case performStore(link: Int, end: Int, incarnation: Int, ReplicationSession.PendingRequest)
        case completeStore(link: Int, end: Int, incarnation: Int, token: UInt64, StoreResult)
        case tick(link: Int, end: Int)
        case notice(node: Int)
        case cut(pair: Int, seconds: Double)
        case heal(pair: Int)
        case loseLink(link: Int, end: Int)
        case dial(pair: Int)
        case crash(node: Int, downSeconds: Double)
        case restart(node: Int)
        case fillDisk(node: Int, seconds: Double)
        case freeDisk(node: Int)
    }

    struct Pair {
        let active: Int
        let passive: Int
        var isCut = false
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
    var acknowledged: [RevisionName] = []
    var report: SimulationReport
    var sabotageLeft = 1
    let files: SimulatedFiles
    let clock = SimulatedClock()
    /// Sessions of nodes that crashed: were they let go of, they would clean up in the store, which a crash does not.
    var crashed: [ReplicationSession] = []
    /// And what those had left to the next ones.
    var crashedExecutors: [StoreExecutor] = []

    /// Prepares a run.
    public init(_ configuration: SimulationConfiguration, keepsLog: Bool = false) throws {
        self.configuration = configuration
        self.keepsLog = keepsLog
        self.random = SeededGenerator(seed: configuration.seed)
        self.report = SimulationReport(seed: configuration.seed)
        self.files = SimulatedFiles(seed: configuration.seed, large: configuration.hasLargeAttachment)
        for index in 0..<configuration.nodeCount {
            let limits = configuration.revisionsLimits
            let node = try SimulatedNode(
                index: index, clock: clock, revisionsLimit: limits.isEmpty ? nil : limits[index % limits.count])
            nodes.append(node)
        }
        for active in 0..<configuration.nodeCount {
            for passive in (active + 1)..<max(active + 1, configuration.nodeCount) {
                switch configuration.topology {
                case .mesh: break
                case .line where passive == active + 1: break
                case .star where active == 0: break
                default: continue
                }
                // Who dials must not always be the one with the lower number.
                pairs.append(
                    random.chance(0.5) ? Pair(active: active, passive: passive) : Pair(active: passive, passive: active)
                )
            }
        }
    }

    /// Runs it to the end and says what was wrong.
    public func run() throws -> SimulationReport {
        plan()
        while let (time, event) = queue.removeFirst() {
            guard time <= configuration.busySeconds + configuration.settleSeconds else { break }
            seconds = time
            clock.milliseconds = Int64(time * 1_000)
            try handle(event)
        }
        try check()
        for node in nodes { node.database.close() }
        return report
    }

    var now: ReplicationInstant {
        ReplicationInstant(monotonicSeconds: seconds, wallSeconds: 1_800_000_000 + Int64(seconds))
    }

    func note(_ text: @autoclosure () -> String) {
        guard keepsLog else { return }
        let text = text()
        if !text.isEmpty { report.log.append("\(seconds): \(text)") }
    }

    // MARK: Events

    func handle(_ event: Event) throws {
        switch event {
        case .write(let node): try write(on: nodes[node])
        case .deliver(let link, let end, let frame): try deliver(links[link], end, frame)
        case .performStore(let link, let end, let incarnation, let request):
            try performStore(links[link], end, incarnation, request)
        case .completeStore(let link, let end, let incarnation, let token, let result):
            let node = nodes[links[link].ends[end].node]
            guard node.incarnation == incarnation, let session = links[link].ends[end].session else { return }
            report.mix(token)
            session.complete(token, result, now: now)
            try pump(links[link], end)
        case .tick(let link, let end):
            links[link].ends[end].scheduledTickSeconds = nil
            links[link].ends[end].session?.tick(now: now)
            try pump(links[link], end)
        case .notice(let node): try noticeChanges(nodes[node])
        case .cut(let pair, let duration):
            note("pair \(pair) is cut")
            pairs[pair].isCut = true
            if let link = pairs[pair].link { cut(links[link]) }
            queue.add(.heal(pair: pair), at: min(seconds + duration, configuration.busySeconds))
        case .heal(let pair):
            note("pair \(pair) is whole")
            pairs[pair].isCut = false
            redial(pair)
        case .loseLink(let link, let end): loseLink(links[link], end)
        case .dial(let pair): try dial(pair)
        case .crash(let node, let downSeconds): crash(nodes[node], downSeconds)
        case .restart(let node):
            note("node \(node) starts")
            nodes[node].isUp = true
            for pair in pairs.indices where pairs[pair].active == node || pairs[pair].passive == node { redial(pair) }
        case .fillDisk(let node, let duration):
            note("the disk of node \(node) is full")
            nodes[node].isDiskFull = true
            queue.add(.freeDisk(node: node), at: min(seconds + duration, configuration.busySeconds))
        case .freeDisk(let node): nodes[node].isDiskFull = false
        }
    }
}
