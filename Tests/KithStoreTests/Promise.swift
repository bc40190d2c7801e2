/// A result that one thread gives and another waits for.
final class Promise<Value: Sendable>: Sendable {
    private let gate = Gate()
    private let value = Shared<Value?>(nil)

    func set(_ new: Value) {
        value.withLock { $0 = new }
        gate.open()
    }

    func wait() -> Value? {
        gate.wait()
        return value.withLock { $0 }
    }
}
