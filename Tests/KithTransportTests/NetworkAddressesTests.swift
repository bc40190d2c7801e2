import Testing

@testable import KithTransport

@Suite("The addresses of this machine")
struct NetworkAddressesTests {
    @Test("what has come is what was not there before, and what went is nothing")
    func came() {
        let before = NetworkAddresses(names: ["eth0 10.0.0.1", "eth0 fe80::1%eth0"])
        let after = NetworkAddresses(names: ["eth0 10.0.0.1", "wlan0 10.1.0.7", "eth0 fe80::2%eth0"])
        #expect(after.came(since: before) == ["eth0 fe80::2%eth0", "wlan0 10.1.0.7"])
        #expect(before.came(since: before).isEmpty)
        #expect(NetworkAddresses().came(since: before).isEmpty)
    }

    @Test("loopback is none of them")
    func current() {
        #expect(!NetworkAddresses.current().names.contains { $0.hasPrefix("lo ") })
    }

    @Test("a watcher can be made, is silent while nothing comes, and can be closed twice")
    @LoopActor func watcher() async throws {
        let watcher = try NetworkWatcher { _ in }
        watcher.close()
        watcher.close()
    }
}
