import Glibc
import KithSimulation
import Testing

@Suite("Simulation: the links of a site")
struct LinkSimulationTests {
    private static func environment(_ name: String) -> UInt64? {
        getenv(name).flatMap { UInt64(String(cString: $0)) }
    }

    /// `KITH_LINK_SEED` plays one seed and prints what happened.
    @Test("whatever happened, a healed site soon has one link for each pair, and dead peers are found in 30 s")
    func heals() {
        if let seed = Self.environment("KITH_LINK_SEED") {
            let report = LinkSimulation(.random(seed: seed), keepsLog: true).run()
            for line in report.log { print(line) }
            #expect(report.failures.isEmpty, "\(report.summary)")
            return
        }
        var (links, deaths, slowest) = (0, 0, 0.0)
        // A tenth of the seeds that the simulation of replication plays.
        for seed in 1...max(10, (Self.environment("KITH_SIM_SEEDS") ?? 500) / 10) {
            let report = LinkSimulation(.random(seed: seed)).run()
            #expect(report.failures.isEmpty, "KITH_LINK_SEED=\(seed): \(report.summary)")
            links += report.links
            deaths += report.deaths
            slowest = max(slowest, report.wholeAfterSeconds)
        }
        print("\(links) links made, \(deaths) found dead, whole at the latest \(slowest) s after all was healed")
        #expect(links > 0 && deaths > 0)
    }

    private static func reboot(seed: UInt64, dark: Double, kills: Bool, isNoticed: Bool) -> LinkSimulationConfiguration
    {
        var configuration = LinkSimulationConfiguration(seed: seed)
        configuration.nodeCount = 30
        configuration.reboot = .init(darkSeconds: dark, killsConnections: kills, isNoticed: isNoticed)
        return configuration
    }

    @Test(
        "thirty nodes that come back after a reboot of the switch do not storm",
        arguments: [(0.0, true, false), (20, false, true), (60, true, true), (60, false, false)])
    func storm(dark: Double, kills: Bool, isNoticed: Bool) {
        for seed in 1...5 as ClosedRange<UInt64> {
            let report = LinkSimulation(Self.reboot(seed: seed, dark: dark, kills: kills, isNoticed: isNoticed)).run()
            #expect(report.failures.isEmpty, "\(report.summary)")
            let back = 60 + dark
            let inMinute = report.dials.count { back <= $0 && $0 < back + 60 }
            let most = report.dialsInOneSecondMax(from: back, to: back + 60)
            print("dark \(dark) s: \(inMinute) dials in the minute after, \(most) in one second")
            // 435 pairs; both ends may dial.
            #expect(inMinute <= 2 * 435)
            #expect(most <= 435 / 2)
        }
    }

    @Test("a site that is started at once is linked with about one dial for each pair")
    func start() {
        var configuration = LinkSimulationConfiguration(seed: 1)
        configuration.nodeCount = 30
        let report = LinkSimulation(configuration).run()
        #expect(report.failures.isEmpty, "\(report.summary)")
        print("\(report.dials.count) dials for 435 pairs, \(report.dialsInOneSecondMax()) in one second")
        #expect(report.dials.count <= 435 * 3 / 2)
        #expect(report.dialsInOneSecondMax() <= 435 / 2)
    }

    @Test("a peer that takes nobody is not hammered, though discovery announces it twice a second")
    func refusing() {
        var configuration = LinkSimulationConfiguration(seed: 1)
        configuration.nodeCount = 2
        configuration.hasRefusingNode = true
        let report = LinkSimulation(configuration).run()
        #expect((8...15).contains(report.dialsOfRefusing), "\(report.dialsOfRefusing) dials")
    }

    @Test(
        "a rule with a fault in it is found out",
        arguments: [LinkSimulationConfiguration.Sabotage.noHeartbeat, .keepsOldLink])
    func sabotage(sabotage: LinkSimulationConfiguration.Sabotage) {
        let found = (1...50 as ClosedRange<UInt64>).count { seed in
            var configuration = LinkSimulationConfiguration.random(seed: seed)
            configuration.sabotage = sabotage
            return !LinkSimulation(configuration).run().failures.isEmpty
        }
        #expect(found > 0)
    }

    @Test("without chance thirty nodes storm, which the bounds see")
    func stormIsSeen() {
        var configuration = Self.reboot(seed: 1, dark: 20, kills: false, isNoticed: true)
        configuration.sabotage = .noChance
        #expect(LinkSimulation(configuration).run().dialsInOneSecondMax(from: 80) > 435 / 2)
    }

    @Test("the same seed gives the same run")
    func repeats() {
        let first = LinkSimulation(.random(seed: 3), keepsLog: true).run()
        let second = LinkSimulation(.random(seed: 3), keepsLog: true).run()
        #expect(first.log == second.log && !first.log.isEmpty)
    }
}
