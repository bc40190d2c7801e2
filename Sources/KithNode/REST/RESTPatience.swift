import KithTransport

/// How long a connection of REST is waited for: for a request, for the rest of a body, and for a client to take its answer.
@LoopActor
final class RESTPatience {
    private let connection: Connection
    private var timer: LoopTimer?
    /// By when more of the body that is coming must be there, as `EventLoop.monotonicNanoseconds`.
    private var deadline: UInt64 = 0
    /// Called when nothing is under way and nothing has come.
    var onIdle: (() -> Void)?
    /// Called when a body comes, or an answer is taken, too slowly.
    var onSlow: (() -> Void)?

    init(_ connection: Connection) { self.connection = connection }

    /// Waits for a request. An answer that is still being taken, and not too slowly, is waited for as well.
    func awaitRequest(seconds: Double) {
        let buffered = connection.bufferedByteCount
        schedule(seconds) { [weak self] in
            guard let self else { return }
            let left = connection.bufferedByteCount
            guard left > 0 else {
                onIdle?()
                return
            }
            guard Double(buffered - left) >= seconds * NodeLimits.clientBytesPerSecondMin else {
                onSlow?()
                return
            }
            awaitRequest(seconds: seconds)
        }
    }

    /// Waits for a body: what comes buys time, and silence of `NodeLimits.restIdleSecondsMax` ends it.
    ///
    /// - Parameter state: whether it is taken at all; nil when it has ended.
    func awaitBody(_ state: @escaping @LoopActor () -> Bool?) {
        deadline = Self.longest
        watchBody(state)
    }

    private func watchBody(_ state: @escaping @LoopActor () -> Bool?) {
        let now = EventLoop.monotonicNanoseconds
        schedule(deadline > now ? Double(deadline - now) / 1e9 : 0) { [weak self] in
            guard let self, let isTaken = state() else { return }
            // Who waits for the disk is not slow.
            if !isTaken { deadline = Self.longest }
            guard EventLoop.monotonicNanoseconds < deadline else {
                onSlow?()
                return
            }
            watchBody(state)
        }
    }

    /// Bytes have come.
    func received(_ byteCount: Int) {
        guard deadline > 0 else { return }
        let more = UInt64(Double(byteCount) / NodeLimits.clientBytesPerSecondMin * 1e9)
        deadline = min(Self.longest, deadline + more)
    }

    /// Waits for nothing.
    func stop() {
        timer?.cancel()
        timer = nil
        deadline = 0
    }

    private func schedule(_ seconds: Double, _ body: @escaping @LoopActor () -> Void) {
        timer?.cancel()
        timer = EventLoop.shared.schedule(afterSeconds: seconds, body)
    }

    private static var longest: UInt64 {
        EventLoop.monotonicNanoseconds + UInt64(NodeLimits.restIdleSecondsMax * 1e9)
    }
}
