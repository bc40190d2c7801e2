import Glibc

/// The lines of the standard input, as they come and without waiting for them.
struct InputLines {
    enum Line {
        case line(String)
        /// Nothing comes any more.
        case end
    }

    private var bytes: [UInt8] = []
    private var hasEnded = false

    /// Forgets what was typed before a question was asked, at a terminal: it cannot have been meant as its answer.
    mutating func discard() {
        guard isatty(STDIN_FILENO) == 1 else { return }
        bytes = []
        tcflush(STDIN_FILENO, TCIFLUSH)
    }

    /// The next line that is there by now; nil when there is none yet.
    mutating func next() -> Line? {
        while true {
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: bytes[..<end].filter { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
                bytes.removeSubrange(...end)
                return .line(line)
            }
            if hasEnded || bytes.count > CommandLimits.answerLineBytesMax { return .end }
            var descriptor = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 0) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 256)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR || errno == EAGAIN { return nil }
            if count <= 0 { hasEnded = true } else { bytes.append(contentsOf: buffer[..<count]) }
        }
    }
}
