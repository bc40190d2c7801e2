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

    // MARK: The plan

    private func plan() {
        let busy = configuration.busySeconds
        for pair in pairs.indices { queue.add(.dial(pair: pair), at: random.seconds(0...0.5)) }
        for _ in 0..<configuration.writeCount {
            queue.add(.write(node: random.int(0..<nodes.count)), at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.partitionCount {
            let event = Event.cut(pair: random.int(0..<pairs.count), seconds: random.seconds(0.1...busy))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.crashCount {
            let event = Event.crash(node: random.int(0..<nodes.count), downSeconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
        for _ in 0..<configuration.diskFullCount {
            let event = Event.fillDisk(node: random.int(0..<nodes.count), seconds: random.seconds(0.1...10))
            queue.add(event, at: random.seconds(0...busy))
        }
    }

    private var now: ReplicationInstant {
        ReplicationInstant(monotonicSeconds: seconds, wallSeconds: 1_800_000_000 + Int64(seconds))
    }

    private func note(_ text: @autoclosure () -> String) {
        if keepsLog { report.log.append("\(seconds): \(text())") }
    }

    // MARK: Events

    private func handle(_ event: Event) throws {
        switch event {
        case .write(let node): try write(on: nodes[node])
        case .deliver(let link, let end, let frame): deliver(links[link], end, frame)
        case .performStore(let link, let end, let incarnation, let request):
            performStore(links[link], end, incarnation, request)
        case .completeStore(let link, let end, let incarnation, let token, let result):
            let node = nodes[links[link].ends[end].node]
            guard node.incarnation == incarnation, let session = links[link].ends[end].session else { return }
            report.mix(token)
            session.complete(token, result, now: now)
            pump(links[link], end)
        case .tick(let link, let end):
            links[link].ends[end].scheduledTickSeconds = nil
            links[link].ends[end].session?.tick(now: now)
            pump(links[link], end)
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

    private func write(on node: SimulatedNode) throws {
        guard node.isUp, !node.isDiskFull else { return }
        let id = try DocumentID("visit-\(random.int(0..<configuration.documentCount))")
        let isLarge = random.chance(configuration.largeDocumentChance)
        let filler = String(repeating: "ä", count: isLarge ? random.int(3_000..<70_000) : random.int(0..<40))
        let body = Array("{\"n\":\(random.int(0..<1_000)),\"by\":\(node.index),\"text\":\"\(filler)\"}".utf8)
        let deletes = random.chance(0.15)
        let picksLoser = random.chance(0.2)
        let choice = random.next()
        let change =
            random.chance(configuration.attachmentChance)
            ? SimulatedFiles.Change.allCases.randomElement(using: &random) ?? .keep : .keep
        let file = random.int(0..<files.count)
        // Removes blobs that nobody uses any more, while others may be about to read or use them.
        if random.chance(0.3) { try node.database.doHousekeeping() }
        let files = self.files
        let edit = { @Sendable (transaction: WriteTransaction) throws -> RevisionID? in
            let leaves = try transaction.document(id)?.leaves ?? []
            let live = leaves.filter { !$0.isDeleted }
            let parent = live.isEmpty ? nil : picksLoser ? live[Int(choice % UInt64(live.count))] : live[0]
            if parent == nil, deletes { return nil }
            let kept = try parent.flatMap { try transaction.document(id, revision: $0.revision)?.attachments }
            return try transaction.put(
                id, body: deletes ? Array("{}".utf8) : body, parent: parent?.revision, isDeleted: deletes,
                attachments: try files.attachments(
                    deletes ? .drop : change, file: file, kept: kept ?? AttachmentList(), in: transaction)
            ).revision
        }
        guard let written = try node.database.writeBlocking(edit) else { return }
        acknowledged.append(RevisionName(id: id, revision: written))
        report.acknowledged += 1
        note("node \(node.index) wrote \(id) \(written)")
        queue.add(.notice(node: node.index), at: seconds + random.seconds(0...0.005))
    }

    private func noticeChanges(_ node: SimulatedNode) throws {
        guard node.isUp else { return }
        let last = try node.lastSequence()
        for link in links {
            for end in 0..<2 where link.ends[end].node == node.index {
                link.ends[end].session?.databaseChanged(lastSequence: last, now: now)
                pump(link, end)
            }
        }
    }

    // MARK: The network

    private func deliver(_ link: SimulatedLink, _ end: Int, _ frame: [UInt8]) {
        guard link.ends[end].session != nil, !link.isCut else { return }
        link.ends[end].arrived.append(frame)
        report.frames += 1
        report.mix(UInt64(frame.count) &+ UInt64(link.id) << 32)
        pump(link, end)
    }

    /// Moves everything that can move at one end: frames in, requests to the store, frames out.
    private func pump(_ link: SimulatedLink, _ end: Int) {
        guard let session = link.ends[end].session else { return }
        while !session.isCongested, session.ended == nil, !link.ends[end].arrived.isEmpty {
            let frame = link.ends[end].arrived.removeFirst()
            link.ends[end].inFlight -= 1
            frame.withUnsafeBytes { session.receive(frame: $0, now: now) }
        }
        sendFrames(link, from: end, session)
        let other = 1 - end
        if let ended = session.ended {
            note("node \(link.ends[end].node) ends link \(link.id): \(ended.reason)")
            link.isCut = true
            loseLink(link, end)
            queue.add(
                .loseLink(link: link.id, end: other), at: seconds + random.seconds(0...configuration.delaySecondsMax))
            return
        }
        if let deadline = session.nextDeadlineSeconds,
            link.ends[end].scheduledTickSeconds.map({ deadline < $0 }) ?? true
        {
            link.ends[end].scheduledTickSeconds = deadline
            queue.add(.tick(link: link.id, end: end), at: max(seconds, deadline))
        }
        // The window to this end has room again.
        if !link.isCut, let sender = link.ends[other].session { sendFrames(link, from: other, sender) }
    }

    private func sendFrames(_ link: SimulatedLink, from end: Int, _ session: ReplicationSession) {
        let other = 1 - end
        while link.ends[other].inFlight < configuration.windowFrames {
            var frame: [UInt8] = []
            guard session.appendNextFrame(to: &frame) else { break }
            link.ends[other].inFlight += 1
            let arrival = max(
                link.ends[other].lastArrivalSeconds, seconds + random.seconds(0...configuration.delaySecondsMax))
            link.ends[other].lastArrivalSeconds = arrival
            queue.add(.deliver(link: link.id, end: other, frame: frame), at: arrival)
        }
        // After the frames, since taking one can ask for the next piece of a blob.
        let incarnation = nodes[link.ends[end].node].incarnation
        for request in session.takeStoreRequests() {
            queue.add(
                .performStore(link: link.id, end: end, incarnation: incarnation, request),
                at: seconds + random.seconds(0...configuration.storeSecondsMax))
        }
    }

    private func dial(_ index: Int) throws {
        pairs[index].isDialling = false
        let pair = pairs[index]
        guard !pair.isCut, nodes[pair.active].isUp, nodes[pair.passive].isUp else { return redial(index) }
        if let old = pair.link {
            guard links[old].ends[0].session == nil else { return }
            // The passive end may still hold the old link: the new one takes its place.
            links[old].isCut = true
            links[old].ends[1].session = nil
        }
        let link = SimulatedLink(id: links.count, active: pair.active, passive: pair.passive)
        links.append(link)
        pairs[index].link = link.id
        note("node \(pair.active) opens link \(link.id) to node \(pair.passive)")
        for end in [1, 0] {
            let node = nodes[link.ends[end].node]
            let peer = nodes[link.ends[1 - end].node]
            let session = ReplicationSession(
                ReplicationConfiguration(
                    role: end == 0 ? .active : .passive, checkpointName: "cp-\(node.index)-\(peer.index)",
                    progressName: "progress/\(peer.index)", peerIsKith: true))
            link.ends[end].session = session
            session.start(lastSequence: try node.lastSequence(), now: now)
            pump(link, end)
        }
    }

    private func redial(_ index: Int) {
        guard !pairs[index].isDialling else { return }
        pairs[index].isDialling = true
        queue.add(.dial(pair: index), at: seconds + random.seconds(0.05...2))
    }

    /// The cable is out: each end finds out in its own time.
    private func cut(_ link: SimulatedLink) {
        link.isCut = true
        for end in 0..<2 { queue.add(.loseLink(link: link.id, end: end), at: seconds + random.seconds(0...8)) }
    }

    private func loseLink(_ link: SimulatedLink, _ end: Int) {
        guard link.ends[end].session != nil else { return }
        link.ends[end].session = nil
        link.ends[end].arrived = []
        guard end == 0, let pair = pairs.firstIndex(where: { $0.link == link.id }) else { return }
        redial(pair)
    }

    // MARK: Nodes

    private func crash(_ node: SimulatedNode, _ downSeconds: Double) {
        guard node.isUp else { return }
        note("node \(node.index) crashes")
        node.isUp = false
        node.incarnation += 1
        crashedExecutors.append(node.executor)
        node.executor = StoreExecutor(database: node.database)
        for link in links {
            for end in 0..<2 where link.ends[end].node == node.index && link.ends[end].session != nil {
                link.isCut = true
                if let session = link.ends[end].session { crashed.append(session) }
                loseLink(link, end)
                queue.add(.loseLink(link: link.id, end: 1 - end), at: seconds + random.seconds(0...8))
            }
        }
        queue.add(.restart(node: node.index), at: min(seconds + downSeconds, configuration.busySeconds))
    }

    private func performStore(
        _ link: SimulatedLink, _ end: Int, _ incarnation: Int, _ pending: ReplicationSession.PendingRequest
    ) {
        let node = nodes[link.ends[end].node]
        // A crash takes what the store had not begun.
        guard node.incarnation == incarnation else { return }
        let result: StoreResult
        if pending.request.isWrite, node.isDiskFull {
            result = .failed(KithError(.diskFull, "no space is left"))
        } else if case .insert(let revisions) = pending.request, configuration.sabotage == .forgetsStoredRevision,
            sabotageLeft > 0, seconds > configuration.busySeconds * 0.8
        {
            sabotageLeft -= 1
            result = .inserted(
                revisions.map { _ in .success(Insertion(outcome: .inserted(sequence: 1), previousSequence: 0)) })
        } else {
            var answer = node.executor.performNow(pending.request)
            if case .blobPiece(var bytes, let length) = answer, configuration.sabotage == .changesByteOfBlob,
                sabotageLeft > 0, !bytes.isEmpty
            {
                sabotageLeft -= 1
                bytes[0] ^= 1
                answer = .blobPiece(bytes, length: length)
            }
            if case .lookups(let lookups) = answer, configuration.sabotage == .hidesSuperseded {
                answer = .lookups(
                    lookups.map { lookup in
                        switch lookup {
                        case .branch, .superseded: .known
                        case .known, .missing: lookup
                        }
                    })
            }
            result = answer
            switch pending.request {
            case .insert, .supersede:
                queue.add(.notice(node: node.index), at: seconds + random.seconds(0...0.005))
            default: break
            }
        }
        queue.add(
            .completeStore(link: link.id, end: end, incarnation: incarnation, token: pending.token, result),
            at: seconds + random.seconds(0...configuration.storeSecondsMax))
    }
}
