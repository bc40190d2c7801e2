import KithReplication

/// What a simulated mesh goes through. `random(seed:)` draws everything from the seed.
public struct SimulationConfiguration: Sendable {
    /// A fault built in on purpose, to prove that the checks can fail.
    public enum Sabotage: Sendable {
        /// One store answers that a revision is stored, and forgets it.
        case forgetsStoredRevision
        /// No node tells another which leaves are superseded.
        case hidesSuperseded
        /// One byte of an attachment changes on its way out of a store.
        case changesByteOfBlob
        /// No session is told in which directions changes may travel.
        case ignoresDirections
        /// Everything goes over every link, whatever its filter.
        case ignoresFilters
        /// Sessions take clients for Kith nodes.
        case takesClientsForNodes
    }

    /// Everything follows from it.
    public var seed: UInt64
    /// The nodes, and which of them are linked.
    public var topology = Topology.named("triangle")
    /// Documents that are written and edited; few of them make many conflicts.
    public var documentCount = 10
    /// Collections over which the documents are spread.
    public var collectionCount = 1
    /// How often somebody drops a collection on one node instead of editing.
    public var dropChance = 0.0
    /// Edits in all, spread over `busySeconds`.
    public var writeCount = 60
    /// How long writes and faults go on, in simulated seconds.
    public var busySeconds = 20.0
    /// How often a link is cut.
    public var partitionCount = 2
    /// How often nothing comes through for a while, in one direction or both.
    public var stallCount = 0
    /// How often a node crashes.
    public var crashCount = 1
    /// How often a disk is full for a while: at once, or when it has taken a few pages more, in the middle of a transaction.
    public var diskFullCount = 0
    /// How often a node reads what comes over a link at a trickle for a while.
    public var slowReaderCount = 0
    /// How often a node's clock is set wrong.
    public var clockJumpCount = 0
    /// How often another database takes the place of a node's: a new one, a backup, or a copy of another node's.
    public var replacementCount = 0
    /// How often somebody resolves a conflict, if there is one, instead of editing.
    public var resolveChance = 0.1
    /// The share of nodes that merge conflicts by themselves.
    public var mergingShare = 0.0
    /// How often somebody purges a document or a leaf on one node instead of editing.
    public var purgeChance = 0.0
    /// How often somebody has a document expire on one node.
    public var expiryChance = 0.0
    /// The share of links on which changes may travel in one direction only; people change their mind about them.
    public var oneWayShare = 0.0
    /// The share of links over which only some documents or revisions go; apps change their mind about which.
    public var filterShare = 0.0
    /// How often two nodes replicate once, beside the link that they keep.
    public var onceCount = 0
    /// How many Couchbase Lite clients there are.
    public var clientCount = 0
    /// How often others edit the same document at the same time.
    public var tieChance = 0.1
    /// One-way delay of a frame, drawn anew for each; frames of one link stay in order, those of different links do not.
    public var delaySecondsMax = 0.05
    /// How long the store may take for a request.
    public var storeSecondsMax = 0.02
    /// What a link takes in one direction; `nil` for as much as there is.
    public var bytesPerSecond: Double?
    /// Whether links carry bytes, cut into pieces anywhere, and not whole frames.
    public var carriesBytes = false
    /// Frames on their way in one direction before the sender must wait.
    public var windowFrames = 16
    /// The share of documents that need many frames.
    public var largeDocumentChance = 0.05
    /// The share of edits that change the attachments of their document.
    public var attachmentChance = 0.3
    /// Whether one of the attachments is a large one.
    public var hasLargeAttachment = false
    /// How many revisions of a branch the nodes keep, one after the other and from the first again; empty for the default.
    /// Histories are then cut short, and nodes must tell each other what is superseded.
    public var revisionsLimits: [Int] = []
    /// The windows of each node, one after the other and from the first again.
    public var limits = [ReplicationLimits()]
    /// How long after the last fault the mesh may take to converge.
    public var settleSeconds = 1_000.0
    /// A fault built in on purpose; `nil` for an honest run.
    public var sabotage: Sabotage?

    /// A configuration with everything at its default.
    public init(seed: UInt64) { self.seed = seed }

    /// Draws a configuration from a seed.
    public static func random(seed: UInt64) -> SimulationConfiguration {
        var random = SeededGenerator(seed: seed ^ 0xC0FF_EE00)
        var configuration = SimulationConfiguration(seed: seed)
        // Large meshes cost most and find little that small ones do not.
        let large = Topology.all.filter { $0.edges.count > 8 }
        let small = Topology.all.filter { $0.edges.count <= 8 }
        let choice = random.chance(0.06) ? large : small
        configuration.topology = choice[random.int(0..<choice.count)]
        configuration.documentCount = random.int(1..<25)
        configuration.writeCount = random.int(5..<40)
        configuration.busySeconds = random.seconds(0.5...30)
        configuration.partitionCount = random.int(0..<4)
        configuration.stallCount = random.chance(0.4) ? random.int(1..<5) : 0
        configuration.crashCount = random.int(0..<4)
        configuration.clockJumpCount = random.chance(0.3) ? random.int(1..<5) : 0
        configuration.replacementCount = random.chance(0.3) ? random.int(1..<4) : 0
        configuration.slowReaderCount = random.chance(0.2) ? random.int(1..<4) : 0
        configuration.resolveChance = random.chance(0.5) ? random.seconds(0...0.4) : 0
        configuration.mergingShare = random.chance(0.3) ? [0.3, 0.6, 1][random.int(0..<3)] : 0
        configuration.purgeChance = random.chance(0.25) ? random.seconds(0...0.2) : 0
        configuration.expiryChance = random.chance(0.15) ? random.seconds(0...0.2) : 0
        if random.chance(0.3) {
            configuration.collectionCount = random.int(2..<5)
            configuration.dropChance = random.chance(0.3) ? random.seconds(0...0.1) : 0
        }
        configuration.tieChance = random.chance(0.5) ? random.seconds(0...0.4) : 0
        configuration.diskFullCount = random.chance(0.3) ? random.int(1..<4) : 0
        configuration.delaySecondsMax =
            random.chance(0.2) ? 0.0005 : random.chance(0.1) ? random.seconds(0.3...4) : random.seconds(0.001...0.3)
        configuration.bytesPerSecond = random.chance(0.15) ? random.seconds(10_000...500_000) : nil
        configuration.carriesBytes = random.chance(0.2)
        configuration.storeSecondsMax = random.seconds(0.0005...0.1)
        configuration.windowFrames = random.int(1..<40)
        configuration.largeDocumentChance = random.chance(0.2) ? 0.15 : 0.01
        configuration.attachmentChance = random.chance(0.2) ? 0 : random.seconds(0.05...0.6)
        configuration.hasLargeAttachment = random.chance(0.2)
        if random.chance(0.4) {
            configuration.revisionsLimits = (0..<5).map { _ in [1, 1, 3, 3, 20, 1_000][random.int(0..<6)] }
            configuration.documentCount = random.int(1..<5)
            configuration.writeCount = random.int(20..<70)
        }
        // Many short runs find more than few long ones; but some must be long.
        if random.chance(0.04) { configuration.writeCount *= 4 }
        if random.chance(0.3) { configuration.limits = (0..<3).map { _ in smallLimits(&random) } }
        if random.chance(0.25) {
            configuration.oneWayShare = random.seconds(0.2...0.9)
            // Who has forgotten a document gets it back only where it may still travel to.
            (configuration.purgeChance, configuration.expiryChance, configuration.dropChance) = (0, 0, 0)
        }
        drawClients(&configuration)
        return configuration
    }

    /// Clients, filters and replications that are once, in some of the runs; the others are what they were without.
    private static func drawClients(_ configuration: inout SimulationConfiguration) {
        var random = SeededGenerator(seed: configuration.seed ^ 0xC1_1E47)
        let isForgetful = configuration.purgeChance + configuration.expiryChance + configuration.dropChance > 0
        if random.chance(0.15) { configuration.onceCount = random.int(1..<6) }
        // Who has forgotten a document gets it back only where it may still travel to, or be asked for.
        guard !isForgetful else { return }
        if random.chance(0.2) { configuration.clientCount = random.int(1..<4) }
        if random.chance(0.1) { configuration.filterShare = random.seconds(0.2...0.9) }
    }

    /// Windows so small that everything waits for them; what the other node may count on stays.
    private static func smallLimits(_ random: inout SeededGenerator) -> ReplicationLimits {
        var limits = ReplicationLimits()
        limits.changesPerListMax = random.int(1..<10)
        limits.unansweredListsMax = random.int(1..<5)
        limits.queuedRevisionsMax = random.int(1..<20)
        limits.revisionsPerReadMax = random.int(1..<6)
        limits.revisionsPerReadBytesMax = random.int(1..<20_000)
        limits.unansweredRevisionBytesMax = random.int(1..<20_000)
        limits.unansweredRevisionsMax = random.int(1..<10)
        limits.awaitedRevisionsMax = random.int(1..<10)
        limits.insertBatchMax = random.int(1..<5)
        limits.insertBatchBytesMax = random.int(1..<20_000)
        limits.receivedBytesMax = random.int(1..<40_000)
        limits.fetchesMax = random.int(1..<3)
        limits.blobLookUpMax = random.int(1..<5)
        limits.blobRepliesMax = random.int(1..<3)
        limits.blobBytesQueuedMax = random.int(1..<40_000)
        limits.echoesMax = random.int(0..<5)
        limits.checkpointDelaySeconds = random.seconds(0.05...5)
        limits.recountIntervalSeconds = random.seconds(0...1)
        limits.compressedBodyBytesMin = random.int(0..<2_000)
        return limits
    }
}
