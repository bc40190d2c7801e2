import Glibc
import KithDocuments
import KithWire

/// Speaks HTTP with the running node over its Unix socket, one request after the other, each blocking and each with a
/// deadline.
final class NodeClient {
    /// What a reader of a body says after each piece.
    enum Verdict {
        case more
        /// Enough: the connection is closed, the rest is never read.
        case enough
    }

    /// How long a silent node is waited for.
    let timeoutMilliseconds: Int
    let socketPath: String
    private let noNodeHint: String
    private var connection: UnixSocket?
    private let buffer: UnsafeMutableRawBufferPointer

    init(socketPath: String, timeoutMilliseconds: Int, noNodeHint: String) {
        self.socketPath = socketPath
        self.timeoutMilliseconds = timeoutMilliseconds
        self.noNodeHint = noNodeHint
        buffer = .allocate(byteCount: CommandLimits.readBytes, alignment: 1)
    }

    deinit { buffer.deallocate() }

    /// Asks, and reads the whole answer.
    ///
    /// - Throws: `KithError`: what the node answered when it refused, else no_node, node_unreachable, connection_lost,
    ///   protocol_violation.
    func send(_ request: NodeRequest) throws -> NodeResponse {
        var body: [UInt8] = []
        let status = try stream(request) { piece in
            guard body.count + piece.count <= CommandLimits.answerBytesMax else {
                throw KithError(.tooLarge, "the node's answer is larger than this command reads")
            }
            body.append(contentsOf: piece)
            return .more
        }
        return NodeResponse(status: status, body: body)
    }

    /// Asks for JSON.
    func json(_ request: NodeRequest) throws -> JSONValue { try send(request).json() }

    /// Asks, and hands over the body of a good answer piece by piece.
    ///
    /// - Parameters:
    ///   - silenceMilliseconds: how long the node may be silent in the middle of the body; `nil` is the usual time-out.
    ///   - tick: called when nothing came for `tickMilliseconds`; may end the reading.
    ///   - onBody: called with each piece; may end the reading.
    /// - Returns: the status of the answer, 200 to 299.
    /// - Throws: as `send`, and whatever the closures throw.
    @discardableResult
    func stream(
        _ request: NodeRequest, silenceMilliseconds: Int? = nil, tickMilliseconds: Int? = nil,
        tick: () throws -> Verdict = { .more }, onBody: ([UInt8]) throws -> Verdict
    ) throws -> Int {
        let isReused = connection != nil
        var received = false
        do {
            return try exchange(
                request, silenceMilliseconds: silenceMilliseconds, tickMilliseconds: tickMilliseconds,
                received: &received, tick: tick, onBody: onBody)
        } catch let error as KithError where error.code == .connectionLost {
            // The node may end an idle connection at the moment at which the next request is sent. Only what changes
            // nothing is sent again (RFC 9110 §9.2.2).
            guard isReused, !received, request.method == "GET" else { throw error }
            return try exchange(
                request, silenceMilliseconds: silenceMilliseconds, tickMilliseconds: tickMilliseconds,
                received: &received, tick: tick, onBody: onBody)
        }
    }

    private func exchange(
        _ request: NodeRequest, silenceMilliseconds: Int?, tickMilliseconds: Int?, received: inout Bool,
        tick: () throws -> Verdict, onBody: ([UInt8]) throws -> Verdict
    ) throws -> Int {
        let connection = try sendAll(request.bytes)
        // Kept for the next request only when this answer was read to its end.
        self.connection = nil
        var limits = HTTPLimits()
        limits.headBytesMax = CommandLimits.answerHeadBytesMax
        // A feed has no end; who takes the body bounds what is kept of it.
        limits.bodyBytesMax = Int.max
        var parser = HTTPResponseParser(limits: limits)
        var reply = Reply()
        var lastHeard = MonotonicClock.milliseconds
        while true {
            let limit = reply.head == nil ? timeoutMilliseconds : silenceMilliseconds ?? timeoutMilliseconds
            let remaining = lastHeard + limit - MonotonicClock.milliseconds
            guard remaining > 0 else { throw ConnectionFailure.noAnswer(afterMilliseconds: limit) }
            guard connection.waits(for: Int16(POLLIN), milliseconds: min(remaining, tickMilliseconds ?? remaining))
            else {
                if Interruption.signal != 0 { return reply.head?.status ?? 0 }
                if case .enough = try tick() { return reply.head?.status ?? 0 }
                continue
            }
            guard let count = connection.receive(into: buffer) else { continue }
            lastHeard = MonotonicClock.milliseconds
            if count == 0 {
                parser.receiveEnd()
            } else {
                received = true
                parser.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            switch try reply.take(from: &parser, hasEnded: count == 0, onBody) {
            case .more: if count == 0 { throw ConnectionFailure.wentAway() }
            case .stopped: return reply.head?.status ?? 0
            case .complete:
                guard let head = reply.head else { throw ConnectionFailure.garbage("an answer without a head") }
                if head.keepsAlive, count > 0 { self.connection = connection }
                guard reply.isGood else { throw RemoteError.error(status: head.status, body: reply.errorBody) }
                return head.status
            }
        }
    }

    /// One answer while it comes in.
    private struct Reply {
        enum Progress { case more, stopped, complete }

        private(set) var head: HTTPResponseHead?
        private(set) var errorBody: [UInt8] = []

        var isGood: Bool { head.map { (200..<300).contains($0.status) } ?? false }

        mutating func take(
            from parser: inout HTTPResponseParser, hasEnded: Bool, _ onBody: ([UInt8]) throws -> Verdict
        ) throws -> Progress {
            while true {
                let event: HTTPResponseEvent?
                do {
                    event = try parser.nextEvent()
                } catch {
                    throw hasEnded ? ConnectionFailure.wentAway() : ConnectionFailure.garbage(error.description)
                }
                switch event {
                case nil: return .more
                case .interim: continue
                case .head(let received): head = received
                case .end: return .complete
                case .body(let piece):
                    if isGood {
                        if case .enough = try onBody(piece) { return .stopped }
                    } else {
                        errorBody.append(contentsOf: piece.prefix(CommandLimits.errorAnswerBytesMax - errorBody.count))
                    }
                }
            }
        }
    }

    private func sendAll(_ bytes: [UInt8]) throws -> UnixSocket {
        let connection = try usableConnection()
        var deadline = MonotonicClock.milliseconds + timeoutMilliseconds
        var sent = 0
        try bytes.withUnsafeBytes { all in
            while sent < all.count {
                let count: Int
                do {
                    count = try connection.send(UnsafeRawBufferPointer(rebasing: all[sent...]))
                } catch {
                    // A node that refuses a large body answers and closes before it has read all of it.
                    if connection.waits(for: Int16(POLLIN), milliseconds: 0) { return }
                    throw error
                }
                sent += count
                if count > 0 {
                    deadline = MonotonicClock.milliseconds + timeoutMilliseconds
                    continue
                }
                let remaining = deadline - MonotonicClock.milliseconds
                guard remaining > 0 else {
                    throw ConnectionFailure.noAnswer(afterMilliseconds: timeoutMilliseconds)
                }
                _ = connection.waits(for: Int16(POLLOUT), milliseconds: remaining)
            }
        }
        return connection
    }

    private func usableConnection() throws -> UnixSocket {
        if let connection, connection.isUsable { return connection }
        connection = nil
        return try UnixSocket(
            path: socketPath, deadlineMilliseconds: MonotonicClock.milliseconds + timeoutMilliseconds,
            timeoutMilliseconds: timeoutMilliseconds, noNodeHint: noNodeHint)
    }
}
