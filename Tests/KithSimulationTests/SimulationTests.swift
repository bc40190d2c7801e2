import Glibc
import KithSimulation
import Testing

@Suite("Simulation: whole meshes on seeds")
struct SimulationTests {
    /// `KITH_SIM_SEED` plays one seed, `KITH_SIM_SEEDS` says how many there are.
    private static func environment(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    /// The seeds, in parts that run side by side.
    static let parts: [[UInt64]] = {
        if let seed = environment("KITH_SIM_SEED") { return [[seed]] }
        let count = environment("KITH_SIM_SEEDS") ?? 500
        let parts: UInt64 = 20
        return (0..<parts).map { part in
            (1...max(count, 1)).filter { $0 % parts == part }
        }.filter { !$0.isEmpty }
    }()

    @Test("every mesh converges, nothing acknowledged is lost, and silence follows", arguments: parts)
    func converges(seeds: [UInt64]) async throws {
        for seed in seeds {
            let alone = Self.environment("KITH_SIM_SEED") != nil
            let report = try await Simulation(.random(seed: seed), keepsLog: alone).run()
            if alone { for line in report.log { print(line) } }
            #expect(report.failures.isEmpty, "\(report.summary)")
        }
    }

    @Test("the same seed gives the same run", arguments: [7, 21, 300] as [UInt64])
    func isRepeatable(seed: UInt64) async throws {
        let first = try await Simulation(.random(seed: seed)).run()
        let second = try await Simulation(.random(seed: seed)).run()
        #expect(first.trace == second.trace)
        #expect(first.frames == second.frames)
    }

    @Test("every mesh that is drawn converges, with something of every fault", arguments: Topology.all.map(\.name))
    func topologies(name: String) async throws {
        var configuration = SimulationConfiguration(seed: 5)
        configuration.topology = .named(name)
        configuration.writeCount = 40
        configuration.stallCount = 2
        configuration.diskFullCount = 1
        configuration.clockJumpCount = 2
        configuration.replacementCount = 2
        configuration.slowReaderCount = 1
        configuration.collectionCount = 3
        configuration.purgeChance = 0.05
        configuration.expiryChance = 0.05
        configuration.carriesBytes = true
        let report = try await Simulation(configuration).run()
        #expect(report.failures.isEmpty, "\(report.summary)")
    }

    @Test(
        "in a full mesh each body crosses into each node about once",
        arguments: [("full mesh of five", 1.5), ("full mesh of ten", 1.5)])
    func bodiesCross(name: String, most: Double) async throws {
        var configuration = SimulationConfiguration(seed: 1)
        configuration.topology = .named(name)
        configuration.documentCount = 50
        configuration.writeCount = 100
        configuration.partitionCount = 0
        configuration.crashCount = 0
        configuration.tieChance = 0
        configuration.attachmentChance = 0
        // A LAN.
        configuration.delaySecondsMax = 0.002
        configuration.storeSecondsMax = 0.002
        let report = try await Simulation(configuration).run()
        #expect(report.failures.isEmpty, "\(report.summary)")
        let ratio = Double(report.bodiesReceived) / Double(max(1, report.bodiesNew))
        print("\(name): \(report.bodiesReceived) bodies came to nodes that lacked \(report.bodiesNew): \(ratio)")
        #expect(report.bodiesNew > 0)
        #expect(ratio <= most)
    }

    @Test("attachments really travel, and the large one too")
    func attachmentsTravel() async throws {
        var configuration = SimulationConfiguration(seed: 9)
        configuration.attachmentChance = 0.8
        configuration.hasLargeAttachment = true
        configuration.crashCount = 3
        let report = try await Simulation(configuration).run()
        #expect(report.failures.isEmpty, "\(report.summary)")
        #expect(report.attachments > 0)
    }

    @Test("collections are made where they are missing, and one that a node dropped comes back with all that is in it")
    func collections() async throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.topology = .named("square with diagonals")
            configuration.collectionCount = 4
            configuration.dropChance = 0.1
            let report = try await Simulation(configuration).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
        }
    }

    @Test("disks fill in the middle of transactions, and nothing that was acknowledged is lost by it")
    func disksFill() async throws {
        var full = 0
        for seed in 1...5 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.diskFullCount = 12
            configuration.largeDocumentChance = 0.3
            let report = try await Simulation(configuration).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
            full += report.fullDisks
        }
        #expect(full > 20)
    }

    @Test("who reads at a trickle costs the sender a window of memory and no more, however much waits")
    func slowReaders() async throws {
        var most = 0
        for seed in 1...5 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.slowReaderCount = 8
            configuration.documentCount = 80
            configuration.writeCount = 120
            configuration.largeDocumentChance = 0.8
            configuration.attachmentChance = 0
            configuration.windowFrames = 2
            configuration.limits[0].unansweredRevisionBytesMax = 100_000
            configuration.limits[0].revisionsPerReadBytesMax = 100_000
            let report = try await Simulation(configuration).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
            most = max(most, report.messageBytesQueuedMax)
        }
        // About 7 MB are written. A window may be passed by one document, of at most 140 kB, as may a piece that is read.
        #expect((100_000..<500_000).contains(most), "\(most) bytes waited")
    }

    @Test("conflicts really happen and are the same everywhere")
    func conflictsHappen() async throws {
        var configuration = SimulationConfiguration(seed: 4)
        configuration.documentCount = 3
        configuration.writeCount = 120
        configuration.partitionCount = 6
        configuration.resolveChance = 0
        let report = try await Simulation(configuration).run()
        #expect(report.failures.isEmpty, "\(report.summary)")
        #expect(report.conflicts > 0)
    }

    @Test("on one-way links nothing goes back, and sessions that do not keep to it are found out")
    func oneWay() async throws {
        for seed in 1...5 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.topology = .named("triangle")
            configuration.oneWayShare = 1
            #expect(try await Simulation(configuration).run().failures == [])
            configuration.sabotage = .ignoresDirections
            #expect(try await !Simulation(configuration).run().failures.isEmpty)
        }
    }

    @Test(
        "clients have what their nodes have, nothing that they pushed is lost, and what Couchbase Lite refuses is found"
    )
    func clients() async throws {
        var (pushed, pulled, found) = (0, 0, 0)
        for seed in 1...6 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.topology = .named("triangle")
            configuration.clientCount = 3
            configuration.documentCount = 5
            configuration.revisionsLimits = [1, 3, 1_000]
            let report = try await Simulation(configuration).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
            (pushed, pulled) = (pushed + report.takenFromClients, pulled + report.takenByClients)
            configuration.sabotage = .takesClientsForNodes
            if try await !Simulation(configuration).run().failures.isEmpty { found += 1 }
        }
        #expect(pushed > 20 && pulled > 20 && found > 0)
    }

    @Test(
        "what a filter withholds does not travel, replications once end with all that may travel, and both are found out"
    )
    func filtersAndOnce() async throws {
        var (once, found) = (0, 0)
        for seed in 1...4 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.topology = .named("triangle")
            configuration.filterShare = 0.8
            configuration.onceCount = 5
            let report = try await Simulation(configuration).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
            once += report.onceCompleted
            configuration.sabotage = .ignoresFilters
            if try await !Simulation(configuration).run().failures.isEmpty { found += 1 }
        }
        #expect(once > 5 && found == 4)
    }

    @Test("without a word on what is superseded, short histories leave false conflicts, and they are found")
    func falseConflictsAreFound() async throws {
        var found = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.documentCount = 2
            configuration.writeCount = 120
            configuration.topology = .named("square with diagonals")
            configuration.partitionCount = 8
            configuration.diskFullCount = 0
            configuration.attachmentChance = 0
            configuration.largeDocumentChance = 0
            configuration.revisionsLimits = [1, 3, 20, 1]
            #expect(try await Simulation(configuration).run().failures.isEmpty)
            configuration.sabotage = .hidesSuperseded
            if try await !Simulation(configuration).run().failures.isEmpty { found += 1 }
        }
        #expect(found > 0)
    }

    @Test(
        "a store that forgets what it acknowledged is found out, and one that changes a byte of an attachment",
        arguments: [SimulationConfiguration.Sabotage.forgetsStoredRevision, .changesByteOfBlob])
    func sabotageIsFound(sabotage: SimulationConfiguration.Sabotage) async throws {
        var found = 0
        for seed in 1...10 as ClosedRange<UInt64> {
            var configuration = SimulationConfiguration(seed: seed)
            configuration.topology = .named("pair")
            configuration.crashCount = 0
            configuration.partitionCount = 0
            configuration.sabotage = sabotage
            if try await !Simulation(configuration).run().failures.isEmpty { found += 1 }
        }
        #expect(found > 0)
    }
}
