import CLinux
import Glibc
import KithDocuments

/// The most memory that this process has had at a time, as the kernel counts it (proc(5), VmHWM).
enum MemoryPeak {
    /// Forgets the peak: what the process has now is the new one.
    static func reset() throws {
        let file = open("/proc/self/clear_refs", O_WRONLY)
        guard file >= 0 else { throw KithError(.inputOutput, "the peak of memory cannot be reset") }
        defer { close(file) }
        guard write(file, "5", 1) == 1 else { throw KithError(.inputOutput, "the peak of memory cannot be reset") }
    }

    static func kibibytes() throws -> Int {
        guard let status = fopen("/proc/self/status", "r") else {
            throw KithError(.inputOutput, "the peak of memory cannot be read")
        }
        defer { fclose(status) }
        var line = [CChar](repeating: 0, count: 256)
        while fgets(&line, Int32(line.count), status) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("VmHWM:"), let number = text.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
            {
                return number
            }
        }
        throw KithError(.inputOutput, "the peak of memory cannot be read")
    }
}
