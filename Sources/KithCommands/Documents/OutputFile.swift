import Glibc
import KithDocuments

/// A file that appears under its name only when it is complete: an export that was interrupted must not pass for one.
final class OutputFile {
    private let path: String
    private let temporaryPath: String
    private let descriptor: Int32
    private var isComplete = false
    private var pending: [UInt8] = []
    private let sink: DescriptorSink

    /// - Throws: `KithError` (io_error).
    init(path: String) throws {
        self.path = path
        temporaryPath = path + ".part-\(getpid())"
        descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        sink = DescriptorSink(descriptor)
        guard descriptor >= 0 else {
            throw KithError(.inputOutput, "\(DisplayText.safe(path)) cannot be written: \(SystemText.error(errno))")
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if !isComplete, descriptor >= 0 { unlink(temporaryPath) }
    }

    func write(_ bytes: [UInt8]) throws {
        pending += bytes
        if pending.count >= CommandLimits.outputBufferBytes { try flush() }
    }

    /// Makes it durable and gives it its name.
    func complete() throws {
        try flush()
        guard fsync(descriptor) == 0, rename(temporaryPath, path) == 0 else {
            throw KithError(.inputOutput, "\(DisplayText.safe(path)) cannot be written: \(SystemText.error(errno))")
        }
        isComplete = true
    }

    private func flush() throws {
        let bytes = pending
        pending.removeAll(keepingCapacity: true)
        try sink.write(bytes)
    }
}
