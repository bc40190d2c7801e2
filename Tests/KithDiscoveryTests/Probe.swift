import Glibc

/// Runs the probe, which prints the events of discovery.
enum Probe {
    struct CannotRun: Error {}

    /// Starts it, reads that many lines, lets it stop, and answers all lines.
    static func run(arguments: [String], environment: [String], untilLine count: Int) throws -> [String] {
        // One pair of sockets is its input and output; no other program started meanwhile inherits an end of it.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CannotRun() }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        defer { posix_spawn_file_actions_destroy(&actions) }
        let program = folderOfTests() + "/KithDiscoveryProbe"
        var argv: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) } + [nil]
        defer { (argv + envp).forEach { free($0) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, program, &actions, nil, &argv, &envp)
        close(ends[1])
        guard code == 0 else { throw CannotRun() }
        var bytes: [UInt8] = []
        var isStopped = false
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) == 1 {
            bytes.append(byte)
            if !isStopped, bytes.count(where: { $0 == 10 }) == count {
                isStopped = true
                shutdown(ends[0], Int32(SHUT_WR))  // the end of its input is what it waits for
            }
        }
        var status: Int32 = 0
        waitpid(process, &status, 0)
        guard status == 0 else { throw CannotRun() }
        return bytes.split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Where the package manager put this test program, and the probe beside it.
    private static func folderOfTests() -> String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let path = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        return String(decoding: path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)], as: UTF8.self)
    }
}
