/// Something that runs once, later, on the thread of `HTTPClientActor`.
@HTTPClientActor
public final class HTTPClientTimer {
    let deadlineNanoseconds: UInt64
    private var body: (@HTTPClientActor () -> Void)?

    init(deadlineNanoseconds: UInt64, body: @escaping @HTTPClientActor () -> Void) {
        self.deadlineNanoseconds = deadlineNanoseconds
        self.body = body
    }

    /// It does not run any more.
    public func cancel() { body = nil }

    var isCancelled: Bool { body == nil }

    func fire() {
        let body = self.body
        self.body = nil
        body?()
    }
}
