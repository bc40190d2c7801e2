import CLinux
import Glibc
import KithDocuments

/// This program again, in a process of its own, which takes commands as lines and answers each with a line.
// Unchecked: what changes after `init` are the two streams, whose C functions lock them; the one line at a time is its users' affair.
final class NodeProcess: @unchecked Sendable {
    let pid: pid_t
    private let input: UnsafeMutablePointer<FILE>
    private let output: UnsafeMutablePointer<FILE>

    /// Starts it with these arguments.
    init(_ arguments: [String]) throws {
        var toChild: [Int32] = [0, 0]
        var fromChild: [Int32] = [0, 0]
        // Closed in whatever is started later: an input that another process holds open never ends.
        guard pipe2(&toChild, O_CLOEXEC) == 0, pipe2(&fromChild, O_CLOEXEC) == 0 else {
            throw KithError(.inputOutput, "no pipe")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, toChild[0], 0)
        posix_spawn_file_actions_adddup2(&actions, fromChild[1], 1)
        var words = (["/proc/self/exe"] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        guard posix_spawn(&child, "/proc/self/exe", &actions, nil, &words, environ) == 0 else {
            throw KithError(.inputOutput, "the node's process cannot be started")
        }
        pid = child
        close(toChild[0])
        close(fromChild[1])
        input = fdopen(toChild[1], "w")
        output = fdopen(fromChild[0], "r")
    }

    /// Sends a command without waiting for its answer.
    func send(_ command: String) {
        fputs(command + "\n", input)
        fflush(input)
    }

    /// The next line that the node writes.
    func line() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        guard fgets(&buffer, Int32(buffer.count), output) != nil else {
            throw KithError(.connectionLost, "the node's process has ended")
        }
        return String(decoding: buffer.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    func ask(_ command: String) throws -> String {
        send(command)
        return try line()
    }

    func askNumber(_ command: String) throws -> Double {
        let answer = try ask(command)
        guard let number = Double(answer) else {
            throw KithError(.internal, "the node answered \"\(answer)\" to \(command)")
        }
        return number
    }

    /// Ends the process and waits for it.
    func stop() {
        fclose(input)
        fclose(output)
        var status: Int32 = 0
        waitpid(pid, &status, 0)
    }
}
