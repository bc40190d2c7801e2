import Glibc
import KithDocuments

/// A file, or the standard input, that is read piece by piece. Closed when it is released.
final class InputFile {
    private let descriptor: Int32
    private let name: String

    /// - Parameter path: a path, or `-` for the standard input.
    /// - Throws: `KithError` (io_error).
    init(path: String) throws {
        if path == "-" {
            descriptor = STDIN_FILENO
            name = "the standard input"
            return
        }
        name = DisplayText.safe(path)
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw KithError(.inputOutput, "\(name) cannot be read: \(SystemText.error(errno))")
        }
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// The next bytes; empty at the end.
    func read() throws -> [UInt8] {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: CommandLimits.readBytes) { buffer, count in
            while true {
                let result = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
                if result < 0, errno == EINTR { continue }
                if result < 0 { failure = errno }
                count = max(0, result)
                return
            }
        }
        if failure != 0 { throw KithError(.inputOutput, "\(name) cannot be read: \(SystemText.error(failure))") }
        return bytes
    }

    /// Everything, when it is not more than a limit.
    ///
    /// - Throws: `KithError` (io_error, too_large).
    func readAll(bytesMax: Int) throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let piece = try read()
            if piece.isEmpty { return all }
            all += piece
            if all.count > bytesMax {
                throw KithError(
                    .tooLarge, "\(name) is larger than \(Quantity.bytes(bytesMax)), the most for a document")
            }
        }
    }
}
