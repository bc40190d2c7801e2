import Glibc
import KithDocuments
import Testing

@testable import KithDiscovery

@Suite("Discovery without Avahi")
struct DiscoveryTests {
    @Test(
        "an advertisement that cannot be published is refused",
        arguments: [
            ServiceAdvertisement(name: "", port: 1, nodeShortID: "K7QX-2M9F"),
            ServiceAdvertisement(name: "a", port: 0, nodeShortID: "K7QX-2M9F"),
            ServiceAdvertisement(name: "a", port: 1, nodeShortID: "K7QX"),
        ])
    func refused(advertisement: ServiceAdvertisement) {
        let error = #expect(throws: KithError.self) {
            try Discovery(advertisement: advertisement) { _ in }.start()
        }
        #expect(error?.code == .badConfiguration)
    }

    @Test("start, stop, start again and letting go end cleanly, and nothing is told after stop has returned")
    func startStop() async throws {
        let (events, continuation) = AsyncStream.makeStream(of: DiscoveryEvent.self)
        let advertisement = ServiceAdvertisement(name: "test", port: 4984, nodeShortID: "K7QX-2M9F")
        do {
            let discovery = Discovery(advertisement: advertisement) { continuation.yield($0) }
            discovery.stop()
            try discovery.start()
            try discovery.start()
            // The first event is a state, whether this machine has Avahi or not.
            var iterator = events.makeAsyncIterator()
            guard case .state = await iterator.next() else {
                Issue.record("the first event is no state")
                return
            }
            discovery.stop()
            discovery.stop()
            for _ in 0..<20 {
                try discovery.start()
                discovery.stop()
            }
            try discovery.start()
        }
        // The last reference is gone, so the closure is gone too, on whatever thread that happened.
        continuation.finish()
        for await _ in events {}
    }

    @Test("the last reference may be let go of on Avahi's own thread")
    func letGoInside() async throws {
        let (done, continuation) = AsyncStream.makeStream(of: Void.self)
        let box = Box()
        let advertisement = ServiceAdvertisement(name: "test", port: 4984, nodeShortID: "K7QX-2M9F")
        box.discovery = Discovery(advertisement: advertisement) { [box] _ in
            box.discovery = nil
            continuation.yield()
        }
        try box.discovery?.start()
        var iterator = done.makeAsyncIterator()
        await iterator.next()
    }

    @Test("without D-Bus the state is off, with a reason and what to do")
    func withoutBus() throws {
        // libdbus reads the address of the bus once in a process: so this one is a process of its own.
        let output = try Probe.run(
            arguments: ["test", "4984", "K7QX-2M9F"],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS=unix:path=/nonexistent/kith-test-bus"], untilLine: 1)
        let fields = try #require(output.first).split(separator: "\t")
        #expect(fields.first == "off")
        #expect(fields.count == 3)
        #expect(fields[1].contains("D-Bus"))
        #expect(fields[2].contains("apt install avahi-daemon"))
        #expect(output.last == "stopped")
        #expect(output.count == 2)
    }
}

/// Holds a reference that a closure lets go of.
// Sendable: the test writes it before discovery starts, afterwards only Avahi's thread does.
private final class Box: @unchecked Sendable {
    var discovery: Discovery?
}
