/// An observation of a database; it ends with `cancel()` or with this object.
public final class ObservationToken: Sendable {
    private let observers: Observers
    private let number: UInt64

    init(observers: Observers, number: UInt64) {
        self.observers = observers
        self.number = number
    }

    deinit {
        cancel()
    }

    /// Ends the observation: a call that has begun on another thread may still end after this returns, no other comes.
    public func cancel() {
        observers.remove(number)
    }
}
