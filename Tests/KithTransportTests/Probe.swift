import Glibc
import KithDocuments

@testable import KithTransport

/// Watches one connection and lets a test wait for what happens on it.
@LoopActor
final class Probe {
    let connection: Connection
    private(set) var info: ConnectionInfo?
    private(set) var received: [UInt8] = []
    private(set) var receivedCount = 0
    private(set) var hasEnded = false
    private(set) var drainedCount = 0
    private(set) var closeCount = 0
    private(set) var error: KithError?
    var keepsBytes = true
    /// Called after the bytes are noted.
    var onBytes: (([UInt8]) -> Void)?
    private var waiters: [(condition: () -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

    init(_ connection: Connection, isReading: Bool = true) {
        self.connection = connection
        info = connection.info
        connection.onReady = { [unowned self] info in
            self.info = info
            changed()
        }
        if isReading { read() }
        connection.onDrained = { [unowned self] in
            drainedCount += 1
            changed()
        }
        connection.onClose = { [self] error in
            closeCount += 1
            self.error = error
            onBytes = nil  // it may hold the probe
            changed()
        }
    }

    func read() {
        connection.onReceive = { [unowned self] bytes in
            let piece = [UInt8](bytes)
            receivedCount += piece.count
            if keepsBytes { received += piece }
            onBytes?(piece)
            changed()
        }
    }

    func observeEnd() {
        connection.onEnd = { [unowned self] in
            hasEnded = true
            changed()
        }
    }

    var isClosed: Bool { closeCount > 0 }

    private func changed() {
        let all = waiters
        waiters = []
        for waiter in all {
            if waiter.condition() { waiter.continuation.resume() } else { waiters.append(waiter) }
        }
    }

    /// Waits until the condition holds; it is looked at after each event of the connection.
    func wait(_ condition: @escaping () -> Bool) async {
        if condition() { return }
        await withCheckedContinuation { waiters.append((condition, $0)) }
    }

    func ready() async -> ConnectionInfo? {
        await wait { self.info != nil || self.isClosed }
        return info
    }

    func bytes(_ count: Int) async -> [UInt8] {
        await wait { self.receivedCount >= count || self.isClosed }
        return received
    }

    /// Waits for the end and gives its error.
    func closed() async -> KithError? {
        await wait { self.isClosed }
        return error
    }
}

/// A value that a test waits for.
@LoopActor
final class Box<Value: Sendable> {
    private(set) var values: [Value] = []
    private var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func put(_ value: Value) {
        values.append(value)
        let all = waiters
        waiters = []
        for waiter in all {
            if waiter.count <= values.count { waiter.continuation.resume() } else { waiters.append(waiter) }
        }
    }

    /// Waits for the value of this number, counted from 0.
    func value(_ index: Int = 0) async -> Value {
        if values.count <= index {
            await withCheckedContinuation { waiters.append((index + 1, $0)) }
        }
        return values[index]
    }
}

/// A listener and what came to it.
@LoopActor
final class TestServer {
    let connections = Box<Probe>()
    let refused = Box<RefusedConnection>()
    private(set) var listener: Listener?

    init(
        tls: TLSContext? = nil, options: ListenerOptions = .init(), echo: Bool = false, isReading: Bool = true
    ) throws {
        listener = try Listener.tcp(.loopback(port: 0), tls: tls, options: options) { [connections] connection in
            connections.put(Self.probe(connection, echo, isReading))
        }
        listener?.onRefused = { [refused] in refused.put($0) }
    }

    init(unix path: String, echo: Bool = false) throws {
        listener = try Listener.unix(UnixSocketAddress(path: path)) { [connections] connection in
            connections.put(Self.probe(connection, echo, true))
        }
    }

    private static func probe(_ connection: Connection, _ echo: Bool, _ isReading: Bool) -> Probe {
        let probe = Probe(connection, isReading: isReading)
        if echo { probe.onBytes = { [unowned probe] in probe.connection.write($0) } }
        return probe
    }

    var address: SocketAddress { listener?.localAddress ?? .loopback(port: 0) }

    func dial(_ tls: TLSContext? = nil, options: ConnectionOptions = .init()) -> Probe {
        Probe(Connection.dial(address, tls: tls, options: options))
    }
}

/// A folder of this test alone, removed with the object.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/kith-transport-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw KithError(.inputOutput, "no temporary folder: \(errno)") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit { Self.remove(path) }

    private static func remove(_ path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            closedir(folder)
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
