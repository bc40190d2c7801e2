import Glibc
import KithDocuments
import Testing

@testable import KithTransport

@Suite("Listening and dialling", .timeLimit(.minutes(60)))
@LoopActor
struct ListenerTests {
    private func error(_ body: () throws -> Void) -> KithError? {
        do {
            try body()
            return nil
        } catch {
            return error as? KithError
        }
    }

    @Test("a port in use is named")
    func portBusy() async throws {
        // An address of the machine that no other test uses, so that none can take the port once it is free.
        let first = try Listener.tcp(SocketAddress(host: "127.77.1.9", port: 0)) { _ in }
        let taken = try #require(first.localAddress)
        for address in [taken, .anyHost(port: taken.port)] {
            let error = error { _ = try Listener.tcp(address) { _ in } }
            #expect(error?.code == .portBusy)
            #expect(error?.message.contains("\(taken.port)") == true)
            #expect(error?.remedy != nil)
        }
        first.close()
        // A closed listener has freed it.
        try Listener.tcp(taken) { _ in }.close()
    }

    @Test("an address of another machine is refused with its name")
    func foreignAddress() throws {
        let error = error { _ = try Listener.tcp(SocketAddress(host: "192.0.2.1", port: 0)) { _ in } }
        #expect(error?.code == .badConfiguration)
        #expect(error?.message.contains("192.0.2.1") == true)
    }

    @Test("the listener on all addresses takes IPv4 and IPv6, and shows an IPv4 caller as IPv4")
    func dualStack() async throws {
        let probes = Box<Probe>()
        let listener = try Listener.tcp(.anyHost(port: 0)) { probes.put(Probe($0)) }
        let port = try #require(listener.localAddress?.port)
        let four = Probe(Connection.dial(.loopback(port: port)))
        #expect(await probes.value(0).info?.remoteAddress?.host == "127.0.0.1")
        four.connection.abort()
        if listener.localAddress?.host == "::" {
            let six = Probe(Connection.dial(try SocketAddress(host: "::1", port: port)))
            if await six.ready() != nil {
                #expect(await probes.value(1).info?.remoteAddress?.host == "::1")
                six.connection.abort()
            }
        }
        listener.close()
    }

    @Test("a port where nobody listens refuses")
    func refused() async throws {
        let server = try TestServer()
        let address = server.address
        server.listener?.close()
        let probe = Probe(Connection.dial(address))
        let error = try #require(await probe.closed())
        #expect(error.code == .connectionLost)
        #expect(error.code.isRetryable)
        #expect(error.message.contains(address.description))
    }

    @Test("a dial that gets no answer ends at its time-out")
    func connectTimeout() async throws {
        // A queue that is full: the kernel drops the next SYN, as a firewall does.
        let listener = OwnedDescriptor(Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        let address = SocketAddress.loopback(port: 0)
        _ = try address.withSockaddr { bind(listener.number, $0, $1) }
        listen(listener.number, 0)
        let bound = try #require(SocketAddress.of(listener.number, peer: false))
        let first = Probe(Connection.dial(bound))
        _ = await first.ready()
        var options = ConnectionOptions()
        options.connectSeconds = 0.2
        let second = Probe(Connection.dial(bound, options: options))
        #expect(await second.closed()?.code == .timedOut)
        first.connection.abort()
    }

    @Test("a host name is looked up; an unknown one is an error that names it")
    func names() async throws {
        let server = try TestServer()
        let good = Probe(Connection.dial(try SocketAddress(host: "localhost", port: server.address.port)))
        #expect(await good.ready() != nil)
        let bad = Probe(Connection.dial(try SocketAddress(host: "no-such-host.invalid", port: 1)))
        let error = try #require(await bad.closed())
        #expect(error.code == .connectionLost)
        #expect(error.message.contains("no-such-host.invalid"))
        good.connection.abort()
        server.listener?.close()
    }

    @Test("a dial aborted at once ends once, whatever it was doing")
    func abortedDial() async throws {
        let server = try TestServer()
        for host in ["127.0.0.1", "localhost", "no-such-host.invalid"] {
            let probe = Probe(Connection.dial(try SocketAddress(host: host, port: server.address.port)))
            probe.connection.write([1])
            probe.connection.close()
            #expect(await probe.closed()?.code == .closed)
            #expect(probe.closeCount == 1)
        }
        server.listener?.close()
    }

    @Test("one more than the limit waits until a connection ends")
    func connectionLimit() async throws {
        var options = ListenerOptions()
        options.connectionsMax = 2
        let server = try TestServer(options: options, echo: true)
        let probes = (0..<3).map { _ in server.dial() }
        for probe in probes { probe.connection.write([1]) }
        _ = await server.connections.value(1)
        #expect(server.listener?.connectionCount == 2)
        let waiting = try #require(probes.first { $0.receivedCount == 0 && $0 !== probes[0] && $0 !== probes[1] })
        _ = await probes[0].bytes(1)
        #expect(waiting.receivedCount == 0)
        probes[0].connection.close()
        #expect(await waiting.bytes(1) == [1])
        for probe in probes { probe.connection.abort() }
        server.listener?.close()
    }

    @Test("out of file descriptors, a listener waits without spinning, says so once, and recovers")
    func outOfDescriptors() async {
        await #expect(processExitsWith: .success) {
            await Task { @LoopActor in
                var limit = rlimit(rlim_cur: 64, rlim_max: 64)
                setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                guard let server = try? TestServer(echo: true) else { exit(2) }
                let troubles = Box<KithError>()
                server.listener?.onTrouble = { troubles.put($0) }
                let probes = (0..<100).map { _ in server.dial() }
                let trouble = await troubles.value()
                guard trouble.message.contains("open files"), trouble.remedy != nil else { exit(3) }
                var usage = rusage()
                getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
                let before = usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec
                let tick = Box<Int>()
                EventLoop.shared.schedule(afterSeconds: 1) { tick.put(1) }
                _ = await tick.value()
                getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
                guard usage.ru_utime.tv_sec * 1_000_000 + usage.ru_utime.tv_usec - before < 200_000 else { exit(4) }
                guard troubles.values.count <= 2 else { exit(5) }
                for probe in probes { probe.connection.abort() }
                for probe in probes { _ = await probe.closed() }
                // The dead ones that still waited to be accepted take the files for another moment.
                for _ in 0..<200 {
                    let probe = server.dial()
                    probe.connection.write([1])
                    if await probe.bytes(1) == [1] { exit(0) }
                    let tick = Box<Int>()
                    EventLoop.shared.schedule(afterSeconds: 0.05) { tick.put(1) }
                    _ = await tick.value()
                }
                exit(6)
            }.value
        }
    }

    // MARK: Unix sockets

    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
    }

    @Test("the socket is the owner's alone, knows its caller, and goes with the listener")
    func unixSocket() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/kith.sock"
        let server = try TestServer(unix: path, echo: true)
        #expect(mode(path) == 0o600)
        let probe = Probe(Connection.dial(UnixSocketAddress(path: path)))
        #expect(await probe.ready()?.peerUserID == getuid())
        #expect(await server.connections.value().info?.peerUserID == getuid())
        server.listener?.close()
        #expect(mode(path) == nil)
        // What was connected stays.
        probe.connection.write([5])
        #expect(await probe.bytes(1) == [5])
        probe.connection.abort()
    }

    @Test("a live socket is never replaced, a stale one is")
    func staleAndLive() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/kith.sock"
        let dead = OwnedDescriptor(Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        _ = try UnixSocketAddress(path: path).withSockaddr { bind(dead.number, $0, $1) }
        dead.close()
        #expect(mode(path) != nil)
        #expect(await Probe(Connection.dial(UnixSocketAddress(path: path))).closed()?.code == .noNode)
        let server = try TestServer(unix: path, echo: true)
        #expect(mode(path) == 0o600)
        #expect(error { _ = try TestServer(unix: path) }?.code == .alreadyRunning)
        let probe = Probe(Connection.dial(UnixSocketAddress(path: path)))
        probe.connection.write([5])
        #expect(await probe.bytes(1) == [5])
        probe.connection.abort()
        server.listener?.close()
    }

    @Test("a file that has taken the socket's place is left alone")
    func notOurs() throws {
        let folder = try TemporaryFolder()
        let path = folder.path + "/kith.sock"
        let server = try TestServer(unix: path)
        unlink(path)
        Glibc.close(creat(path, 0o600))
        server.listener?.close()
        #expect(mode(path) != nil)
        #expect(error { _ = try TestServer(unix: path) }?.code == .badConfiguration)
        #expect(mode(path) != nil)
    }

    @Test("a folder that others may write to, or that is not there, is refused")
    func unsafeFolder() throws {
        let folder = try TemporaryFolder()
        chmod(folder.path, 0o777)
        let error1 = error { _ = try TestServer(unix: folder.path + "/s") }
        #expect(error1?.code == .badConfiguration)
        #expect(error1?.remedy?.contains("chmod 700") == true)
        chmod(folder.path, 0o700)
        #expect(error { _ = try TestServer(unix: folder.path + "/none/s") }?.code == .homeNotWritable)
    }

    @Test("nobody there is told apart from no access")
    func nobodyThere() async throws {
        let folder = try TemporaryFolder()
        for path in ["/none", "/none/none"] {
            let probe = Probe(Connection.dial(UnixSocketAddress(path: folder.path + path)))
            #expect(await probe.closed()?.code == .noNode)
        }
        let empty = Probe(Connection.dial(UnixSocketAddress(path: "")))
        #expect(await empty.closed()?.code == .badConfiguration)
    }

    @Test("a path far longer than the kernel's 107 bytes works")
    func longPath() async throws {
        let folder = try TemporaryFolder()
        var deep = folder.path
        for _ in 0..<8 {
            deep += "/" + String(repeating: "d", count: 60)
            mkdir(deep, 0o700)
        }
        let path = deep + "/kith.sock"
        let server = try TestServer(unix: path, echo: true)
        #expect(mode(path) == 0o600)
        #expect(error { _ = try TestServer(unix: path) }?.code == .alreadyRunning)
        let probe = Probe(Connection.dial(UnixSocketAddress(path: path)))
        probe.connection.write([5])
        #expect(await probe.bytes(1) == [5])
        probe.connection.abort()
        server.listener?.close()
        #expect(mode(path) == nil)
    }
}
