import COpenSSL
import Glibc
import KithDocuments
import Testing

@testable import KithTransport

@Suite("TLS", .timeLimit(.minutes(60)))
@LoopActor
struct TLSTests {
    let server: TestIdentity
    let client: TestIdentity

    init() throws {
        server = try TestIdentity("server")
        client = try TestIdentity("client")
    }

    private func echoServer(options: ListenerOptions = .init()) throws -> TestServer {
        try TestServer(tls: server.server(trusting: client.hash), options: options, echo: true)
    }

    private func raw(_ identity: TestIdentity?) -> RawTLS {
        RawTLS(certificatePEM: identity?.certificatePEM, keyPEM: identity?.keyPEM)
    }

    @Test("both sides see the other's key, speak TLS 1.3, derive the same secret and end cleanly")
    func bothCertificates() async throws {
        let node = try echoServer()
        let probe = node.dial(try client.client(expecting: server.hash))
        probe.connection.write(Array("before the handshake, ".utf8))
        let info = try #require(await probe.ready())
        probe.connection.write(Array("after it".utf8))
        #expect(await probe.bytes(30) == Array("before the handshake, after it".utf8))
        let other = await node.connections.value()
        #expect(info.tlsVersion == "TLSv1.3")
        #expect(info.peer?.publicKeyHash == server.hash)
        #expect(info.peer?.commonName == "server")
        #expect(info.remoteAddress == node.address)
        #expect(other.info?.peer?.publicKeyHash == client.hash)
        #expect(other.info?.remoteAddress == info.localAddress)
        let secret = probe.connection.exportKeyingMaterial(label: "kith test", context: [1], count: 32)
        #expect(secret?.count == 32)
        #expect(secret == other.connection.exportKeyingMaterial(label: "kith test", context: [1], count: 32))
        probe.connection.close()
        #expect(await probe.closed() == nil)
        #expect(await other.closed() == nil)
        #expect(probe.closeCount == 1 && other.closeCount == 1)
        node.listener?.close()
    }

    @Test("a certificate out of date is as good as any: the key decides")
    func datesDoNotMatter() async throws {
        let old = try TestIdentity("old", notAfter: -3600)
        let node = try TestServer(tls: old.server(trusting: client.hash), echo: true)
        let probe = node.dial(try client.client(expecting: old.hash))
        probe.connection.write([7])
        #expect(await probe.bytes(1) == [7])
        probe.connection.abort()
        node.listener?.close()
    }

    @Test("a client with an unknown key is refused, and learns why")
    func unknownClient() async throws {
        let stranger = try TestIdentity("stranger")
        let node = try echoServer()
        let probe = node.dial(try stranger.client(expecting: server.hash))
        probe.connection.write(Array("let me in".utf8))
        let error = try #require(await probe.closed())
        #expect(error.code == .notTrusted)
        #expect(error.message.contains("does not trust this node"))
        #expect(error.message.contains(node.address.description))
        let refused = await node.refused.value()
        #expect(refused.error.code == .notTrusted)
        #expect(refused.certificate?.publicKeyHash == stranger.hash)
        #expect(node.connections.values.isEmpty)
        #expect(probe.received.isEmpty)
        node.listener?.close()
    }

    @Test("the refusal reaches a client that has already sent more than the kernel holds")
    func unknownClientThatSendsMuch() async throws {
        let stranger = try TestIdentity("stranger")
        let node = try echoServer()
        for _ in 0..<20 {
            let probe = node.dial(try stranger.client(expecting: server.hash))
            probe.connection.write([UInt8](repeating: 1, count: 1 << 20))
            #expect(await probe.closed()?.code == .notTrusted)
        }
        node.listener?.close()
    }

    @Test("a server with another key is refused by the dialler, before anything is sent, and the server is told")
    func unknownServer() async throws {
        let impostor = try TestIdentity("server")
        let node = try TestServer(tls: impostor.server(trusting: client.hash))
        let probe = node.dial(try client.client(expecting: server.hash))
        probe.connection.write(Array("secret".utf8))
        let error = try #require(await probe.closed())
        #expect(error.code == .wrongKey)
        #expect(probe.info == nil)
        #expect(probe.connection.shownCertificate?.publicKeyHash == impostor.hash)
        let refused = await node.refused.value()
        #expect(refused.error.code == .notTrusted)
        #expect(refused.error.message.contains("does not trust this node"))
        node.listener?.close()
    }

    @Test("a dial can have a verdict of its own")
    func verdictOfOneDial() async throws {
        let node = try echoServer()
        let context = try client.client(expecting: server.hash)
        let connection = Connection.dial(
            node.address, tls: context, verify: { _ in .refused(KithError(.wrongKey, "not today")) })
        #expect(await Probe(connection).closed()?.message == "not today")
        node.listener?.close()
    }

    @Test("the right certificate without its key does not get in")
    func certificateWithoutKey() async throws {
        #expect(throws: KithError.self) {
            try TLSIdentity(certificatePEM: client.certificatePEM, privateKeyPEM: server.keyPEM)
        }
        #expect(throws: KithError.self) { try TLSIdentity(certificatePEM: [], privateKeyPEM: client.keyPEM) }
        #expect(throws: KithError.self) {
            try TLSIdentity(certificatePEM: client.certificatePEM, privateKeyPEM: Array("nonsense".utf8))
        }
    }

    @Test("a client without certificate is refused", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func noCertificate(version: Int32) async throws {
        let node = try echoServer()
        var peer = raw(nil)
        (peer.minimum, peer.maximum) = (version, version)
        let outcome = await peer.connect(port: node.address.port, send: [1], expecting: 1)
        #expect(outcome.received.isEmpty)
        let refused = await node.refused.value()
        #expect(refused.error.code == .notTrusted)
        #expect(refused.error.message.contains("no certificate"))
        node.listener?.close()
    }

    @Test("a client that has TLS 1.2 alone is served with forward secrecy and AEAD, and its key counts")
    func oldClient() async throws {
        let node = try echoServer()
        let outcome = await raw(client).connect(port: node.address.port, send: Array("hello".utf8), expecting: 5)
        #expect(outcome.received == Array("hello".utf8))
        #expect(outcome.suite.hasPrefix("ECDHE-ECDSA-"))
        let probe = await node.connections.value()
        #expect(probe.info?.tlsVersion == "TLSv1.2")
        #expect(probe.info?.peer?.publicKeyHash == client.hash)
        #expect(await probe.closed() == nil)
        let stranger = try TestIdentity("stranger")
        let refused = await raw(stranger).connect(port: node.address.port, send: [1], expecting: 1)
        #expect(!refused.isConnected)
        #expect(await node.refused.value().error.code == .notTrusted)
        node.listener?.close()
    }

    @Test(
        "suites without AEAD or forward secrecy, and older versions, are refused",
        arguments: ["ECDHE-ECDSA-AES128-SHA256", "AES128-GCM-SHA256", "TLS 1.1"])
    func weakClient(suite: String) async throws {
        let node = try echoServer()
        var peer = raw(client)
        if suite == "TLS 1.1" {
            (peer.minimum, peer.maximum) = (TLS1_1_VERSION, TLS1_1_VERSION)
        } else {
            peer.suites = suite
        }
        let outcome = await peer.connect(port: node.address.port, send: [1], expecting: 1)
        #expect(!outcome.isConnected)
        #expect(await node.refused.value().error.code == .tlsFailed)
        node.listener?.close()
    }

    @Test("a server that has TLS 1.2 alone is refused by the dialler")
    func oldServer() async throws {
        let port = Box<UInt16>()
        async let outcome = raw(server).serveOne { number in EventLoop.shared.post { port.put(number) } }
        let address = SocketAddress.loopback(port: await port.value())
        let probe = Probe(Connection.dial(address, tls: try client.client(expecting: server.hash)))
        let error = try #require(await probe.closed())
        #expect(error.code == .tlsFailed)
        #expect(error.message.contains("TLS 1.3"))
        #expect(await !outcome.isConnected)
    }

    @Test(
        "what is not a handshake is refused",
        arguments: [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
            String(repeating: "x", count: 70_000), "\u{16}\u{3}\u{1}\u{40}\u{0}",
        ])
    func garbage(text: String) async throws {
        let node = try echoServer()
        let probe = node.dial()
        probe.connection.write(Array(text.utf8))
        if text.utf8.count < 8 { probe.connection.onReady = { _ in probe.connection.close() } }
        let refused = await node.refused.value()
        #expect([.tlsFailed, .connectionLost].contains(refused.error.code))
        _ = await probe.closed()
        #expect(node.connections.values.isEmpty)
        node.listener?.close()
    }

    @Test("who says nothing, or half of a handshake, is cut off at the time-out, with the reason")
    func silence() async throws {
        var options = ListenerOptions()
        options.connection.handshakeSeconds = 0.1
        let node = try echoServer(options: options)
        let silent = node.dial()
        let slow = node.dial()
        slow.connection.write([0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
        for index in 0...1 {
            let refused = await node.refused.value(index)
            #expect(refused.error.code == .timedOut)
            #expect(refused.error.message.contains("handshake"))
        }
        _ = await silent.closed()
        _ = await slow.closed()
        #expect(node.listener?.connectionCount == 0)
        node.listener?.close()
    }

    @Test("a dialler gives up on a silent server")
    func silentServer() async throws {
        let node = try TestServer()
        var options = ConnectionOptions()
        options.handshakeSeconds = 0.1
        let probe = node.dial(try client.client(expecting: server.hash), options: options)
        #expect(await probe.closed()?.code == .timedOut)
        node.listener?.close()
    }

    @Test("a handshake cut at any byte and ended is refused, and leaves nothing behind")
    func handshakeCutAnywhere() async throws {
        let hello = try await clientHello()
        var options = ListenerOptions()
        options.handshakesMax = 1000
        let node = try echoServer(options: options)
        for count in 0..<hello.count {
            let probe = node.dial()
            probe.connection.onReady = { _ in
                probe.connection.write(Array(hello.prefix(count)))
                probe.connection.close()
            }
            let refused = await node.refused.value(count)
            #expect(refused.error.code == .connectionLost)
            _ = await probe.closed()
        }
        #expect(node.connections.values.isEmpty)
        node.listener?.close()
    }

    private func clientHello() async throws -> [UInt8] {
        let sink = try TestServer()
        let dialler = sink.dial(try client.client(expecting: server.hash))
        let probe = await sink.connections.value()
        let hello = await probe.bytes(100)
        dialler.connection.abort()
        sink.listener?.close()
        return hello
    }

    @Test("an end without close_notify, or a reset, is an error; one with it is clean")
    func truncation() async throws {
        let node = try echoServer()
        for (index, ending) in [RawTLS.Ending.polite, .withoutCloseNotify, .reset].enumerated() {
            var peer = raw(client)
            peer.maximum = TLS1_3_VERSION
            let outcome = await peer.connect(
                port: node.address.port, send: Array("half a mess".utf8), expecting: 11, ending: ending)
            #expect(outcome.received.count == 11)
            let probe = await node.connections.value(index)
            let error = await probe.closed()
            if case .polite = ending { #expect(error == nil) } else { #expect(error?.code == .connectionLost) }
        }
        node.listener?.close()
    }

    @Test("silent peers cannot keep others out: the oldest handshake gives way")
    func handshakeLimit() async throws {
        var options = ListenerOptions()
        options.handshakesMax = 3
        // Only the number of handshakes is to cut one off here, however slowly this test gets its turns.
        options.connection.handshakeSeconds = 3600
        let node = try echoServer(options: options)
        var silent: [Probe] = []
        for _ in 0..<3 {
            let probe = node.dial()
            _ = await probe.ready()
            silent.append(probe)
        }
        let probe = node.dial(try client.client(expecting: server.hash))
        probe.connection.write([1, 2, 3])
        #expect(await probe.bytes(3) == [1, 2, 3])
        #expect(await node.refused.value().error.message.contains("too many"))
        for one in silent + [probe] { one.connection.abort() }
        node.listener?.close()
    }
}
