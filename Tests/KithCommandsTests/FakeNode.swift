import Glibc
import Synchronization

/// A server on a Unix socket that answers as a test says, on threads of its own, so that a blocking client in the test
/// does not wait for itself.
final class FakeNode: Sendable {
    /// A request as it came.
    struct Request: Sendable {
        let method: String
        let target: String
        let body: String
    }

    /// What the server does with a request.
    enum Reply: Sendable {
        /// JSON with a length; the connection stays open.
        case json(_ status: Int, _ body: String)
        /// Bytes as they are, then the end of the connection.
        case bytes(String)
        /// Bytes as they are, then nothing more: the connection stays open.
        case bytesThenSilence(String)
        /// Bytes in pieces, one after the other, then the end.
        case pieces([String])
    }

    let folder = TemporaryFolder()
    private let listener: Int32
    private let handler: @Sendable (Request) -> Reply
    private let requests = Mutex<[Request]>([])
    private let connections = Mutex<[Int32]>([])

    var home: String { folder.path }

    /// The requests so far.
    var log: [Request] { requests.withLock { $0 } }

    init(_ handler: @escaping @Sendable (Request) -> Reply) {
        self.handler = handler
        listener = Self.listen(in: folder.path)
        Self.detach { [self] in acceptAll() }
    }

    /// Ends it; to be called at the end of each test, since its threads hold it.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        connections.withLock { for descriptor in $0 { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    /// A socket that listens in `run/kith.sock` of a home.
    static func listen(in home: String, backlog: Int32 = 16) -> Int32 {
        mkdir(home + "/run", 0o700)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        let here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let run = open(home + "/run", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer {
            close(here)
            close(run)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: "/proc/self/fd/\(run)/kith.sock".utf8) }
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        Glibc.listen(descriptor, backlog)
        return descriptor
    }

    private func acceptAll() {
        while true {
            let descriptor = accept(listener, nil, nil)
            if descriptor < 0 { break }
            connections.withLock { $0.append(descriptor) }
            Self.detach { [self] in serve(descriptor) }
        }
        close(listener)
    }

    private func serve(_ descriptor: Int32) {
        defer {
            connections.withLock { $0.removeAll { $0 == descriptor } }
            close(descriptor)
        }
        var input: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            while let request = Self.takeRequest(&input) {
                requests.withLock { $0.append(request) }
                switch handler(request) {
                case .json(let status, let body):
                    Self.send(
                        "HTTP/1.1 \(status) X\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
                        descriptor)
                case .bytes(let text):
                    Self.send(text, descriptor)
                    return
                case .bytesThenSilence(let text):
                    Self.send(text, descriptor)
                    while recv(descriptor, &buffer, buffer.count, 0) > 0 {}
                    return
                case .pieces(let pieces):
                    for piece in pieces { Self.send(piece, descriptor) }
                    return
                }
            }
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return }
            input += buffer[..<count]
        }
    }

    private static func send(_ text: String, _ descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    private static func takeRequest(_ input: inout [UInt8]) -> Request? {
        let mark = Array("\r\n\r\n".utf8)
        guard let end = input.indices.first(where: { input[$0...].starts(with: mark) }) else { return nil }
        let lines = String(decoding: input[..<end], as: UTF8.self).split(separator: "\r\n")
        var length = 0
        for line in lines where line.hasPrefix("Content-Length: ") { length = Int(line.dropFirst(16)) ?? 0 }
        guard input.count >= end + 4 + length else { return nil }
        let body = String(decoding: input[(end + 4)..<(end + 4 + length)], as: UTF8.self)
        input.removeFirst(end + 4 + length)
        let words = lines[0].split(separator: " ")
        return Request(method: String(words[0]), target: String(words[1]), body: body)
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs a body on a thread of its own; the thread owns the box and releases it at its end.
    private static func detach(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        pthread_create(&thread, nil, runWork, Unmanaged.passRetained(Work(body)).toOpaque())
        pthread_detach(thread)
    }

    fileprivate static func run(_ box: UnsafeMutableRawPointer?) {
        guard let box else { return }
        Unmanaged<Work>.fromOpaque(box).takeRetainedValue().body()
    }
}

private func runWork(_ box: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    FakeNode.run(box)
    return nil
}
