import KithReplication

/// A site whose nodes do nothing but keep links: the real `LinkKeeper` and `LinkHeartbeat` of each pair of nodes, while the
/// network, time, chance and what discovery says are played from a seed.
public final class LinkSimulation {
    enum Event {
        case arrive(SimulatedConnection, from: Int, SimulatedConnection.Message)
        case wake(SimulatedLinkEnd)
        case beat(SimulatedLinkEnd, SimulatedConnection)
        case dialTimeout(SimulatedLinkEnd, SimulatedConnection, isConnect: Bool)
        case word(node: Int, about: Int, isNews: Bool)
        case fault(Fault)
        case undo(Fault)
        case expectUnlinked(Int, Int, since: Double)
        case heal
        case look
    }

    let configuration: LinkSimulationConfiguration
    var generator: SeededGenerator
    var queue = EventQueue<Event>()
    var now = 0.0
    /// By node and peer; the diagonal is not used.
    var ends: [[SimulatedLinkEnd]] = []
    /// How many things stop what a node sends to another.
    var blocks: [[Int]]
    var blockedSinceSeconds: [[Double]]
    /// The delay between two nodes, in seconds.
    var delays: [[Double]]
    var isFrozen: [Bool]
    var isUp: [Bool]
    /// When a node last was frozen, thawed or restarted.
    var disturbedAtSeconds: [Double]
    /// What waits for a frozen node: its timers, then what has arrived.
    var waiting: [[Event]]
    /// By the smaller and the greater node; those of which both ends are closed are forgotten with the next dial.
    var connections: [[[SimulatedConnection]]]
    var connectionCount = 0
    var isHealed = false
    var report: LinkSimulationReport
    private let keepsLog: Bool

    /// How long the faults last, how long a healed site has to become whole, and how long it is then looked at.
    static let faultSeconds = 120.0
    static let wholeSecondsMax = 150.0
    static let quietSeconds = 60.0

    /// Prepares it; with `keepsLog` the report says what happened.
    public init(_ configuration: LinkSimulationConfiguration, keepsLog: Bool = false) {
        self.configuration = configuration
        self.keepsLog = keepsLog
        generator = SeededGenerator(seed: configuration.seed)
        let count = configuration.nodeCount
        blocks = Array(repeating: Array(repeating: 0, count: count), count: count)
        delays = blocks.map { $0.map { _ in 0 } }
        connections = blocks.map { $0.map { _ in [] } }
        blockedSinceSeconds = blocks.map { $0.map { _ in .infinity } }
        isFrozen = Array(repeating: false, count: count)
        isUp = Array(repeating: true, count: count)
        disturbedAtSeconds = Array(repeating: 0, count: count)
        waiting = Array(repeating: [], count: count)
        report = LinkSimulationReport(seed: configuration.seed)
        report.dialsOfNode = Array(repeating: 0, count: count)
        ends = (0..<count).map { node in (0..<count).map { SimulatedLinkEnd(node: node, peer: $0) } }
        // It does not ask either, so there is never a link.
        if let node = refusingNode { for end in ends[node] { end.hasAddress = false } }
        for first in 0..<count {
            for second in first + 1..<max(count, first + 1) {
                let delay = generator.seconds(0.0001...configuration.delaySecondsMax)
                (delays[first][second], delays[second][first]) = (delay, delay)
                if configuration.hasMissingAddresses, generator.chance(0.3), second != refusingNode {
                    let (node, peer) = generator.chance(0.5) ? (first, second) : (second, first)
                    ends[node][peer].hasAddress = false
                }
            }
        }
    }

    /// The node that takes nobody, if there is one.
    var refusingNode: Int? { configuration.hasRefusingNode ? configuration.nodeCount - 1 : nil }

    /// Plays it to the end.
    public func run() -> LinkSimulationReport {
        plan()
        for node in ends.indices { start(node) }
        while let (seconds, event) = queue.removeFirst() {
            now = seconds
            guard !isHealed || now <= report.healedAtSeconds + Self.wholeSecondsMax + Self.quietSeconds else { break }
            handle(event)
        }
        checkEnd()
        return report
    }

    /// The connections of a pair.
    func connections(_ first: Int, _ second: Int) -> [SimulatedConnection] {
        connections[min(first, second)][max(first, second)]
    }

    func log(_ text: @autoclosure () -> String) {
        if keepsLog { report.log.append("\((now * 1_000).rounded() / 1_000) \(text())") }
    }

    func fail(_ text: String) {
        log("FAILED: \(text)")
        report.failures.append("at \(now): \(text)")
    }

    private func handle(_ event: Event) {
        switch event {
        case .arrive(let connection, let from, let message): arrive(connection, from: from, message)
        case .wake(let end): onTime(end.node, event) { wake(end) }
        case .beat(let end, let connection): onTime(end.node, event) { beat(end, connection) }
        case .dialTimeout(let end, let connection, let isConnect):
            onTime(end.node, event) { dialTimedOut(end, connection, isConnect: isConnect) }
        case .word(let node, let peer, let isNews):
            onTime(node, event) {
                perform(ends[node][peer].keeper.hurry(moment(node), isNews: isNews), ends[node][peer])
            }
        case .fault(let fault): begin(fault)
        case .undo(let fault): end(fault)
        case .expectUnlinked(let node, let peer, let since): expectUnlinked(node, peer, since: since)
        case .heal: heal()
        case .look:
            if isWhole {
                report.wholeAfterSeconds = now - report.healedAtSeconds
            } else {
                queue.add(.look, at: now + 1)
            }
        }
    }

    /// Does what a process does when its time has come, or has it wait when the process is frozen. One that is down forgets it.
    private func onTime(_ node: Int, _ event: Event, _ body: () -> Void) {
        guard isUp[node] else { return }
        if isFrozen[node] { return waiting[node].append(event) }
        body()
    }

    /// Lets a frozen node go on: its timers are due first, what has arrived is read after that, as in the event loop.
    func thaw(_ node: Int) {
        isFrozen[node] = false
        disturbedAtSeconds[node] = now
        let events = waiting[node]
        waiting[node] = []
        for event in events { if case .arrive = event {} else { handle(event) } }
        for event in events { if case .arrive = event { handle(event) } }
    }

    func start(_ node: Int) {
        for end in ends[node] where end.peer != node {
            end.keeper.start(moment(node))
            arm(end)
        }
    }

    func moment(_ node: Int) -> LinkMoment {
        if configuration.sabotage == .noChance { return LinkMoment(seconds: now, chance: 0, unlinkedCount: 0) }
        let unlinked = ends[node].count { $0.peer != node && $0.link == nil }
        return LinkMoment(seconds: now, chance: generator.seconds(0...1), unlinkedCount: unlinked)
    }
}
