/// What a site goes through in a simulation of its links.
public struct LinkSimulationConfiguration: Sendable {
    /// A change that makes the site misbehave, to see that the checks notice.
    public enum Sabotage: Sendable {
        /// Nothing is left to chance: all wait alike.
        case noChance
        /// Nobody ever finds that a peer is dead.
        case noHeartbeat
        /// A link whose place is taken is not ended.
        case keepsOldLink
    }

    /// How a switch that was rebooted treats the site.
    public struct Reboot: Sendable {
        /// How long nothing passes, in seconds.
        public var darkSeconds: Double
        /// Whether connections are dead after it, without a word, as behind a firewall that has forgotten them.
        public var killsConnections: Bool
        /// Whether each node hears at the same moment that its network is back, and discovery sees everybody.
        public var isNoticed: Bool

        /// A reboot with these properties.
        public init(darkSeconds: Double, killsConnections: Bool, isNoticed: Bool) {
            self.darkSeconds = darkSeconds
            self.killsConnections = killsConnections
            self.isNoticed = isNoticed
        }
    }

    /// Decides everything that is left to chance.
    public var seed: UInt64
    /// How many nodes there are.
    public var nodeCount = 3
    /// Longest delay of a message, in seconds; each pair has a number of its own below it.
    public var delaySecondsMax = 0.05
    /// How many faults there are in the two minutes before everything is healed.
    public var faultCount = 0
    /// A reboot of the switch, a minute after the start.
    public var reboot: Reboot?
    /// Whether one side of some pairs has no address of the other.
    public var hasMissingAddresses = false
    /// A node that never takes anybody, and which discovery announces all the time.
    public var hasRefusingNode = false
    /// What is wrong with the site on purpose.
    public var sabotage: Sabotage?

    /// Three nodes to which nothing happens.
    public init(seed: UInt64) { self.seed = seed }

    /// A site with something of everything, decided by a seed.
    public static func random(seed: UInt64) -> LinkSimulationConfiguration {
        var generator = SeededGenerator(seed: seed ^ 0x11_4B)
        var configuration = LinkSimulationConfiguration(seed: seed)
        configuration.nodeCount = generator.chance(0.1) ? generator.int(11..<31) : generator.int(2..<8)
        configuration.delaySecondsMax = generator.chance(0.2) ? 2 : 0.05
        configuration.faultCount = generator.int(1..<4 * configuration.nodeCount)
        configuration.hasMissingAddresses = generator.chance(0.5)
        configuration.hasRefusingNode = generator.chance(0.2)
        if generator.chance(0.3) {
            configuration.reboot = Reboot(
                darkSeconds: generator.chance(0.3) ? 0 : generator.seconds(0...60),
                killsConnections: generator.chance(0.5), isNoticed: generator.chance(0.5))
        }
        return configuration
    }
}
