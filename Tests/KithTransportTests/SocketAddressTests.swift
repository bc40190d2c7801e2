import Glibc
import KithDocuments
import Testing

@testable import KithTransport

@Suite("Addresses")
struct SocketAddressTests {
    @Test(
        "an address reads and prints the same",
        arguments: [
            ("192.168.1.5:4984", "192.168.1.5:4984"), ("[fd00::7]:1", "[fd00::7]:1"),
            ("[FE80:0:0::1%eth0]:4984", "[fe80::1%eth0]:4984"), ("[fe80::1%3]:65535", "[fe80::1%3]:65535"),
            ("box.local:80", "box.local:80"), ("box", "box:4984"), ("10.0.0.1", "10.0.0.1:4984"),
            ("fe80::1%wlan0", "[fe80::1%wlan0]:4984"), ("::", "[::]:4984"), ("[::1]", "[::1]:4984"),
            ("[::ffff:10.1.2.3]:7", "10.1.2.3:7"), ("küche.local:1", "küche.local:1"),
        ])
    func parse(text: String, printed: String) throws {
        let address = try SocketAddress(parsing: text, defaultPort: 4984)
        #expect(address.description == printed)
        #expect(try SocketAddress(parsing: printed) == address)
        #expect(try SocketAddress(host: address.host, port: address.port) == address)
    }

    @Test(
        "what is not an address is refused",
        arguments: [
            "", ":", ":80", "host:", "host:x", "host:65536", "host:-1", "host: 1", "host:123456", "[::1", "[::1]80",
            "[::1%]:1", "[::1%a/b]:1", "[::g]:1", "1.2.3:4", "1.2.3.4.5:1", "256.1.1.1:1", "a b:1", "a/b:1", "-a:1",
            ".a:1", "user@host:1", "http://host:1", "host\n:1", "[fe80::1%0123456789abcdef]:1", "127.1:1", "1:1",
            String(repeating: "a", count: 254) + ":1",
        ])
    func refuse(text: String) {
        #expect(throws: KithError.self) { try SocketAddress(parsing: text) }
        #expect((try? SocketAddress(parsing: text, defaultPort: 1)) == nil)
    }

    @Test("without a port and without a default there is no address")
    func noPort() {
        for text in ["host", "10.0.0.1", "::1", "[::1]"] {
            #expect(throws: KithError.self) { try SocketAddress(parsing: text) }
        }
    }

    @Test("the kernel's form keeps host, port and scope")
    func kernelForm() throws {
        var texts = ["10.1.2.3:4984", "[fd00::7]:1", "[::1]:2"]
        if if_nametoindex("lo") != 0 { texts.append("[fe80::1%lo]:3") }
        for text in texts {
            let address = try SocketAddress(parsing: text)
            let back = try address.withSockaddr { SocketAddress($0, length: $1) }
            #expect(back == address)
        }
        #expect(throws: KithError.self) {
            try SocketAddress(parsing: "[fe80::1%none7]:1").withSockaddr { _, _ in }
        }
        #expect(throws: KithError.self) { try SocketAddress(parsing: "host:1").withSockaddr { _, _ in } }
    }

    @Test("what one machine has many of is counted together: the loopback, and a network of IPv6")
    func counted() throws {
        func counted(_ text: String) throws -> [String] {
            let address = try SocketAddress(parsing: text)
            return [address.countedHost, address.countedNetwork]
        }
        #expect(try counted("10.0.0.1:1") == ["10.0.0.1", "10.0.0.1"])
        #expect(try counted("[::ffff:10.0.0.1]:1") == ["10.0.0.1", "10.0.0.1"])
        #expect(try counted("[2001:db8:1:2:3:4:5:6]:1") == ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"])
        #expect(try counted("[2001:db8:1:2::9]:1") == ["2001:db8:1:2::9", "2001:db8:1:2::/64"])
        for text in ["127.0.0.1:1", "127.9.8.7:1", "[::1]:1", "[::ffff:127.0.0.2]:1"] {
            #expect(try counted(text) == ["loopback", "loopback"], "\(text)")
        }
    }

    @Test("loopback is known")
    func loopback() throws {
        for (text, expected) in [("127.9.9.9", true), ("::1", true), ("10.0.0.1", false), ("localhost", false)] {
            #expect(try SocketAddress(host: text, port: 1).isLoopback == expected)
        }
    }
}
