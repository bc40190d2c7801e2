/// A timer of the event loop, made by `EventLoop.schedule`; the loop keeps it until it ran or is cancelled.
@LoopActor
public final class LoopTimer {
    let deadline: UInt64
    var order: UInt64 = 0
    /// Where the timer is in the heap, or -1.
    var index = -1
    private var body: (@LoopActor () -> Void)?

    init(deadline: UInt64, body: @escaping @LoopActor () -> Void) {
        self.deadline = deadline
        self.body = body
    }

    /// Whether the timer has neither run nor been cancelled.
    public var isPending: Bool { index >= 0 }

    /// Takes the timer back: its body does not run any more. No effect when it ran already.
    public func cancel() {
        if index >= 0 { EventLoop.shared.timers.remove(self) }
        body = nil
    }

    func fire() {
        let body = self.body
        self.body = nil
        body?()
    }
}
