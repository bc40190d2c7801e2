import Glibc
import KithDocuments
import Testing

@testable import KithTransport

enum Medium: CaseIterable, Sendable { case tcp, unix, tls }

/// Two ends of a connection over each medium.
@LoopActor
struct Pair {
    let server: TestServer
    let near: Probe
    let far: Probe
    private let folder: TemporaryFolder?

    init(
        _ medium: Medium, options: ConnectionOptions = .init(), echo: Bool = false, isReading: Bool = true
    ) async throws {
        var listenerOptions = ListenerOptions()
        listenerOptions.connection = options
        switch medium {
        case .tcp:
            folder = nil
            server = try TestServer(options: listenerOptions, echo: echo, isReading: isReading)
            near = server.dial(options: options)
        case .tls:
            folder = nil
            let (a, b) = (try TestIdentity("a"), try TestIdentity("b"))
            server = try TestServer(
                tls: a.server(trusting: b.hash), options: listenerOptions, echo: echo, isReading: isReading)
            near = server.dial(try b.client(expecting: a.hash), options: options)
        case .unix:
            let folder = try TemporaryFolder()
            self.folder = folder
            server = try TestServer(unix: folder.path + "/socket", echo: echo)
            near = Probe(Connection.dial(UnixSocketAddress(path: folder.path + "/socket"), options: options))
        }
        far = await server.connections.value()
        _ = await near.ready()
    }

    func end() async {
        near.connection.abort()
        far.connection.abort()
        _ = await near.closed()
        _ = await far.closed()
        server.listener?.close()
    }
}

/// Bytes without pattern, the same for the same seed.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var state = seed
    // Eight bytes at a step: without optimisation a step takes its time.
    var words = [UInt64](repeating: 0, count: (count + 7) / 8)
    for index in words.indices {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        words[index] = state ^ state >> 29
    }
    return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
}

@Suite("Connections", .timeLimit(.minutes(60)))
@LoopActor
struct TransferTests {
    @Test("what is written comes back, once and in order", arguments: Medium.allCases)
    func echo(medium: Medium) async throws {
        let pair = try await Pair(medium, echo: true)
        var expected: [UInt8] = []
        for round in 0..<50 {
            let message = noise(round * 7 % 100 + 1, seed: UInt64(round))
            expected += message
            pair.near.connection.write(message)
            #expect(await pair.near.bytes(expected.count) == expected)
        }
        await pair.end()
    }

    @Test("megabytes in both directions at once arrive byte for byte", arguments: Medium.allCases)
    func bothDirections(medium: Medium) async throws {
        let pair = try await Pair(medium)
        let (there, back) = (noise(6_000_000, seed: 1), noise(5_000_001, seed: 2))
        for start in stride(from: 0, to: there.count, by: 100_000) {
            pair.near.connection.write(Array(there[start..<min(there.count, start + 100_000)]))
        }
        pair.far.connection.write(back)
        #expect(await pair.far.bytes(there.count) == there)
        #expect(await pair.near.bytes(back.count) == back)
        #expect(pair.near.drainedCount == 1)
        await pair.end()
    }

    @Test("close delivers what was written before it, then a clean end on both sides", arguments: Medium.allCases)
    func closeFlushes(medium: Medium) async throws {
        let pair = try await Pair(medium)
        let bytes = noise(3_000_000, seed: 3)
        pair.near.connection.write(bytes)
        pair.near.connection.close()
        pair.near.connection.write([1, 2, 3])
        #expect(await pair.far.closed() == nil)
        #expect(pair.far.received == bytes)
        #expect(await pair.near.closed() == nil)
        pair.server.listener?.close()
    }

    @Test("an end is told, and the other direction still works", arguments: Medium.allCases)
    func halfClose(medium: Medium) async throws {
        let pair = try await Pair(medium)
        pair.far.observeEnd()
        pair.near.connection.write(Array("question".utf8))
        pair.near.connection.close()
        await pair.far.wait { pair.far.hasEnded }
        #expect(!pair.far.isClosed)
        pair.far.connection.write(Array("answer".utf8))
        pair.far.connection.close()
        #expect(await pair.far.closed() == nil)
        #expect(await pair.near.closed() == nil)
        pair.server.listener?.close()
    }

    @Test("a peer that has closed its Unix socket is gone, also for one that would still answer it")
    func goneOnUnixSocket() async throws {
        let pair = try await Pair(.unix)
        pair.far.observeEnd()
        pair.near.connection.write(Array("question".utf8))
        // First only its direction ends, then all of it.
        pair.near.connection.close()
        await pair.far.wait { pair.far.hasEnded }
        #expect(pair.far.received == Array("question".utf8) && !pair.far.isClosed)
        pair.near.connection.abort()
        #expect(await pair.far.closed()?.code == .connectionLost)
        pair.server.listener?.close()
    }

    @Test("abort ends with an error on both sides, once", arguments: Medium.allCases)
    func abort(medium: Medium) async throws {
        let pair = try await Pair(medium)
        pair.near.connection.abort()
        pair.near.connection.abort(KithError(.internal, "too late"))
        pair.near.connection.close()
        #expect(await pair.near.closed()?.code == .closed)
        let error = await pair.far.closed()
        if medium == .tls { #expect(error?.code == .connectionLost) } else { #expect(error == nil) }
        #expect(pair.near.closeCount == 1 && pair.far.closeCount == 1)
        pair.server.listener?.close()
    }

    @Test("a paused reader makes the writer wait, and loses nothing", arguments: [Medium.tcp, .tls])
    func backPressure(medium: Medium) async throws {
        var options = ConnectionOptions()
        options.kernelBufferBytes = 64 * 1024
        let pair = try await Pair(medium, options: options)
        let other = try await Pair(.tcp, echo: true)
        pair.far.connection.pauseReading()
        let bytes = noise(8_000_000, seed: 4)
        pair.near.connection.write(bytes)
        // Many turns of the loop in which it could move, if it could.
        for round in 1...200 {
            other.near.connection.write([1])
            _ = await other.near.bytes(round)
        }
        #expect(pair.far.receivedCount == 0)
        #expect(pair.near.connection.bufferedByteCount > 7_000_000)
        let before = pair.near.connection.bufferedByteCount
        pair.near.connection.write([9])
        #expect(pair.near.connection.bufferedByteCount == before + 1)
        #expect(pair.near.drainedCount == 0)
        pair.far.connection.resumeReading()
        #expect(await pair.far.bytes(bytes.count + 1) == bytes + [9])
        await pair.near.wait { pair.near.drainedCount == 1 }
        #expect(pair.near.connection.bufferedByteCount == 0)
        await pair.end()
        await other.end()
    }

    @Test("nothing is read before somebody wants it", arguments: [Medium.tcp, .tls])
    func noReader(medium: Medium) async throws {
        let pair = try await Pair(medium, isReading: false)
        pair.near.connection.write([1, 2, 3])
        pair.near.connection.close()
        pair.far.read()
        #expect(await pair.far.closed() == nil)
        #expect(pair.far.received == [1, 2, 3])
        pair.server.listener?.close()
    }

    @Test("pausing within onReceive stops at once; resuming brings the rest", arguments: Medium.allCases)
    func pauseWithinCallback(medium: Medium) async throws {
        let pair = try await Pair(medium)
        let bytes = noise(1_000_000, seed: 5)
        pair.far.onBytes = { _ in pair.far.connection.pauseReading() }
        pair.near.connection.write(bytes)
        while pair.far.receivedCount < bytes.count {
            let before = pair.far.receivedCount
            pair.far.connection.resumeReading()
            await pair.far.wait { pair.far.receivedCount > before }
            #expect(pair.far.receivedCount - before <= TransportLimits.readBufferBytes)
        }
        #expect(pair.far.received == bytes)
        await pair.end()
    }

    @Test("a busy connection does not keep another waiting", arguments: [Medium.tcp, .tls])
    func fairness(medium: Medium) async throws {
        let busy = try await Pair(medium)
        let calm = try await Pair(medium, echo: true)
        busy.far.keepsBytes = false
        let total = 64_000_000
        // Each round begins in the callback that ends the one before, so that nothing but the loop decides how long it takes.
        let rounds = 10
        let transferred = Box<Int>()
        calm.near.onBytes = { _ in
            if calm.near.receivedCount < rounds {
                calm.near.connection.write([1])
            } else {
                transferred.put(busy.far.receivedCount)
            }
        }
        busy.near.connection.write([UInt8](repeating: 7, count: total))
        calm.near.connection.write([1])
        #expect(await transferred.value() < total)
        await busy.far.wait { busy.far.receivedCount == total }
        await busy.end()
        await calm.end()
    }

    @Test("callbacks may do everything: close, abort and write from within", arguments: Medium.allCases)
    func reentrancy(medium: Medium) async throws {
        for action in 0..<4 {
            let pair = try await Pair(medium)
            pair.far.onBytes = { _ in
                let connection = pair.far.connection
                switch action {
                case 0: connection.close()
                case 1: connection.abort()
                case 2:
                    connection.write([1])
                    connection.close()
                    connection.abort()
                default:
                    connection.onReceive = nil
                    connection.write([1])
                    connection.close()
                }
            }
            pair.near.connection.write(noise(500_000, seed: 6))
            _ = await pair.far.closed()
            _ = await pair.near.closed()
            #expect(pair.far.closeCount == 1 && pair.near.closeCount == 1)
            pair.server.listener?.close()
        }
    }

    @Test("a reader that takes nothing is given up when closing", arguments: [Medium.tcp, .tls])
    func lingerEnds(medium: Medium) async throws {
        var options = ConnectionOptions()
        options.lingerSeconds = 0.1
        options.kernelBufferBytes = 16 * 1024
        let pair = try await Pair(medium, options: options)
        pair.far.connection.pauseReading()
        pair.near.connection.write(noise(4_000_000, seed: 7))
        pair.near.connection.close()
        #expect(await pair.near.closed()?.code == .timedOut)
        await pair.end()
    }

    @Test("many short connections leave no file descriptor behind", arguments: Medium.allCases)
    func noLeak(medium: Medium) async throws {
        var sockets: Set<String> = []
        let pair = try await Pair(medium, echo: true)
        let context = medium == .tls ? try TestIdentity("c") : nil
        let permissive = try context.map { identity in
            try TLSContext.client(identity: identity.identity, verify: { _ in .trusted })
        }
        let anyone = try context.map { identity in
            try TLSContext.server(identity: identity.identity, verify: { _ in .trusted })
        }
        let server = medium == .unix ? pair.server : try TestServer(tls: anyone, echo: true)
        let offset = medium == .unix ? 1 : 0
        for round in 0..<200 {
            let probe =
                medium == .unix
                ? Probe(Connection.dial(UnixSocketAddress(path: pair.near.connection.remoteName)))
                : server.dial(permissive)
            probe.connection.write([1])
            _ = await probe.bytes(1)
            let far = await server.connections.value(round + offset)
            for connection in [probe.connection, far.connection] {
                let descriptor = try #require(connection.socket?.descriptor.number)
                sockets.insert(try #require(link(descriptor)))
            }
            if round % 2 == 0 { probe.connection.close() } else { far.connection.abort() }
            _ = await probe.closed()
            _ = await far.closed()
        }
        #expect(sockets.count == 400)
        let open = Set((0..<Int32(4096)).compactMap { link($0) })
        #expect(open.isDisjoint(with: sockets))
        #expect(server.listener?.connectionCount == offset)
        if medium != .unix { server.listener?.close() }
        await pair.end()
    }

    private func link(_ descriptor: Int32) -> String? {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
        return count > 0 ? String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
