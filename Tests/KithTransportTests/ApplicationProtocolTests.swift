import KithDocuments
import Testing

@testable import KithTransport

@Suite("Application protocols of TLS", .timeLimit(.minutes(60)))
@LoopActor
struct ApplicationProtocolTests {
    let server: TestIdentity
    let friend: TestIdentity
    let stranger: TestIdentity

    init() throws {
        server = try TestIdentity("server")
        friend = try TestIdentity("friend")
        stranger = try TestIdentity("stranger")
    }

    /// A server that lets its friend speak the ordinary protocol, and everybody `hello/1`.
    private func node() throws -> TestServer {
        let hash = friend.hash
        return try TestServer(
            tls: .server(
                identity: server.identity,
                verify: { $0.publicKeyHash == hash ? .trusted : .refused(KithError(.notTrusted, "a stranger")) },
                protocols: ["hello/1": { _ in .trusted }]), echo: true)
    }

    private func context(_ identity: TestIdentity, _ name: String?) throws -> TLSContext {
        try TLSContext.client(identity: identity.identity, verify: { _ in .trusted }, applicationProtocol: name)
    }

    @Test("who asks for a protocol is judged by its own rule, and both sides know what is spoken")
    func chosen() async throws {
        let node = try node()
        let probe = node.dial(try context(stranger, "hello/1"))
        let info = try #require(await probe.ready())
        #expect(info.applicationProtocol == "hello/1")
        #expect(await node.connections.value().info?.applicationProtocol == "hello/1")
        #expect(await node.connections.value().info?.peer?.publicKeyHash == stranger.hash)
        probe.connection.abort()
        node.listener?.close()
    }

    @Test(
        "a stranger that asks for no protocol, or for one that is not spoken, is refused as ever",
        arguments: [nil, "hello/2", "h2"])
    func others(name: String?) async throws {
        let node = try node()
        let probe = node.dial(try context(stranger, name))
        #expect(await probe.closed() != nil)
        #expect(await node.refused.value().error.code == .notTrusted)
        #expect(node.connections.values.isEmpty)
        node.listener?.close()
    }

    @Test("a friend that asks for nothing speaks the ordinary protocol")
    func ordinary() async throws {
        let node = try node()
        let probe = node.dial(try context(friend, nil))
        probe.connection.write([7])
        #expect(await probe.bytes(1) == [7])
        #expect(await node.connections.value().info?.applicationProtocol == nil)
        probe.connection.abort()
        node.listener?.close()
    }

    @Test("a dialler refuses a server that does not choose what it asked for, before anything is sent")
    func notSpoken() async throws {
        let node = try TestServer(
            tls: .server(
                identity: server.identity, verify: { _ in .trusted }, protocols: ["hello/1": { _ in .trusted }]))
        let probe = node.dial(try context(friend, "hello/2"))
        probe.connection.write(Array("secret".utf8))
        let error = try #require(await probe.closed())
        #expect(error.code == .protocolViolation && error.message.contains("hello/2"))
        #expect(probe.info == nil)
        node.listener?.close()
    }
}
