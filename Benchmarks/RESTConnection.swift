import CLinux
import Glibc
import KithDocuments

/// A client of a node's administration socket that waits for each answer: HTTP/1.1, kept alive.
///
/// It does as little as it can, since it shares the machine with what is measured.
final class RESTConnection {
    /// What was answered.
    struct Answer {
        let status: Int
        let bodyBytes: Int
        /// Lines that end in the body.
        let lines: Int
    }

    private let descriptor: Int32
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 17, alignment: 16)
    private var filled = 0
    private var taken = 0

    /// - Parameter path: of the socket.
    init(path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw KithError(.inputOutput, "no socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
            throw KithError(.badRequest, "the socket's path is too long")
        }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw KithError(.inputOutput, "the node's socket does not answer") }
    }

    deinit {
        close(descriptor)
        buffer.deallocate()
    }

    /// The bytes of a request.
    static func request(_ method: String, _ target: String, body: [UInt8]? = nil) -> [UInt8] {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\n"
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n" }
        return Array((head + "\r\n").utf8) + (body ?? [])
    }

    /// Sends a request and reads all of its answer.
    func ask(_ request: [UInt8]) throws -> Answer {
        try send(request)
        return try answer()
    }

    /// Sends a request and expects success.
    @discardableResult
    func askWell(_ request: [UInt8]) throws -> Answer {
        let answer = try ask(request)
        guard 200..<300 ~= answer.status else {
            throw KithError(.internal, "the node answered with status \(answer.status)")
        }
        return answer
    }

    func send(_ request: [UInt8]) throws {
        var sent = 0
        while sent < request.count {
            let count = request.withUnsafeBytes { write(descriptor, $0.baseAddress! + sent, $0.count - sent) }
            guard count > 0 else { throw KithError(.connectionLost, "the node took no more of a request") }
            sent += count
        }
    }

    /// The status and the length of an answer's body; `nil` where it comes in chunks.
    func head() throws -> (status: Int, length: Int?) {
        let status = try line()
        guard status.count > 12, let number = Int(String(decoding: status[9..<12], as: UTF8.self)) else {
            throw KithError(.internal, "the node's answer has no status")
        }
        var length: Int? = 0
        while case let field = try line(), !field.isEmpty {
            let text = String(decoding: field, as: UTF8.self).lowercased()
            if text.hasPrefix("content-length:") {
                length = Int(text.dropFirst(15).filter { $0 != " " })
            } else if text.hasPrefix("transfer-encoding:") {
                length = nil
            }
        }
        return (number, length)
    }

    private func answer() throws -> Answer {
        let (status, length) = try head()
        if let length { return Answer(status: status, bodyBytes: length, lines: try pass(length)) }
        var (bytes, lines) = (0, 0)
        while case let size = try chunkSize(), size > 0 {
            lines += try pass(size)
            bytes += size
            _ = try line()
        }
        _ = try line()
        return Answer(status: status, bodyBytes: bytes, lines: lines)
    }

    /// Reads the next chunk of an answer that has no end yet.
    ///
    /// - Returns: the lines that end in it.
    func chunk() throws -> Int {
        let lines = try pass(try chunkSize())
        _ = try line()
        return lines
    }

    private func chunkSize() throws -> Int {
        guard let size = Int(String(decoding: try line(), as: UTF8.self), radix: 16) else {
            throw KithError(.internal, "the node's answer has a chunk without a size")
        }
        return size
    }

    /// The next line without its end.
    private func line() throws -> [UInt8] {
        var found: [UInt8] = []
        while true {
            if taken == filled { try fill() }
            let byte = buffer[taken]
            taken += 1
            if byte == 10 { return found }
            if byte != 13 { found.append(byte) }
        }
    }

    /// Reads past so many bytes.
    ///
    /// - Returns: the lines that end in them.
    private func pass(_ count: Int) throws -> Int {
        var (left, lines) = (count, 0)
        while left > 0 {
            if taken == filled { try fill() }
            let part = min(left, filled - taken)
            for place in taken..<(taken + part) where buffer[place] == 10 { lines += 1 }
            taken += part
            left -= part
        }
        return lines
    }

    private func fill() throws {
        taken = 0
        filled = max(0, read(descriptor, buffer.baseAddress, buffer.count))
        guard filled > 0 else { throw KithError(.connectionLost, "the node's answer has no end") }
    }
}
