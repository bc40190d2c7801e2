import Glibc

/// A process of `KithStoreProbe`, with its input and output; it is gone with this object at the latest.
final class ProbeProcess {
    struct CannotRun: Error {}

    private let socket: Int32
    private var process: pid_t = 0
    private var status: Int32?
    private var received: [UInt8] = []

    /// Starts it; its complaints go where those of this process go.
    init(_ arguments: [String]) throws {
        // One pair of sockets is its input and output; no other program started meanwhile inherits an end of it.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CannotRun() }
        socket = ends[0]
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        let program = Self.folderOfTests() + "/KithStoreProbe"
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { argv.forEach { free($0) } }
        let code = posix_spawn(&process, program, &actions, nil, &argv, environ)
        close(ends[1])
        guard code == 0 else {
            close(socket)
            status = 0
            throw CannotRun()
        }
    }

    deinit {
        if status == nil {
            kill()
            _ = wait()
        }
        close(socket)
    }

    /// Writes to its input. That it has ended meanwhile is no error.
    func send(_ text: String) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// Ends its input.
    func endInput() { shutdown(socket, Int32(SHUT_WR)) }

    /// The next line of its output; nil when that has ended, or when the time is over.
    func readLine(until deadline: ContinuousClock.Instant? = nil) -> String? {
        while true {
            if let end = received.firstIndex(of: 10) {
                defer { received.removeFirst(end + 1) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            if let deadline {
                let left = ContinuousClock.now.duration(to: deadline) / .milliseconds(1)
                var poll = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
                guard left > 0, Glibc.poll(&poll, 1, Int32(left.rounded(.up))) > 0 else { return nil }
            }
            var piece = [UInt8](repeating: 0, count: 65536)
            let count = read(socket, &piece, piece.count)
            guard count > 0 else { return nil }
            received += piece[..<count]
        }
    }

    /// The lines of its output until it ends, or until the time is over.
    func readLines(until deadline: ContinuousClock.Instant? = nil) -> [String] {
        var lines: [String] = []
        while let line = readLine(until: deadline) { lines.append(line) }
        return lines
    }

    /// Ends it as a crash does.
    func kill() { Glibc.kill(process, SIGKILL) }

    /// Waits until it has ended: its exit code, or 128 and the signal that ended it.
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(process, &raw, 0) < 0, errno == EINTR {}
        let result = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + raw & 0x7F
        status = result
        return result
    }

    /// Where the package manager put this test program, and the probe beside it.
    private static func folderOfTests() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        return String(decoding: path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
    }
}
