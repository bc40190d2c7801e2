import Glibc
import KithDocuments

/// Writes to an open file descriptor, which belongs to somebody else and is not closed.
final class DescriptorSink: OutputSink {
    private let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func write(_ bytes: some Sequence<UInt8>) throws {
        let all = ContiguousArray(bytes)
        try all.withUnsafeBytes { try write(buffer: $0) }
    }

    private func write(buffer: UnsafeRawBufferPointer) throws {
        var rest = buffer
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN:
                // The terminal, or a pipe somebody else made non-blocking: wait until there is room.
                var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&wanted, 1, -1)
            case EPIPE: throw OutputClosed()
            case ENOSPC, EDQUOT:
                throw KithError(
                    .diskFull, "the output could not be written: no space is left", remedy: "Free some space")
            case let code:
                throw KithError(.inputOutput, "the output could not be written: \(SystemText.error(code))")
            }
        }
    }
}
