import KithDocuments
import Synchronization

/// Who is told after commits.
final class Observers: Sendable {
    private struct State: Sendable {
        var lastToken: UInt64 = 0
        var callbacks: [UInt64: @Sendable (UInt64) -> Void] = [:]
    }

    private let state = Mutex(State())

    func add(_ callback: @escaping @Sendable (UInt64) -> Void) -> ObservationToken {
        let number = state.withLock { state in
            state.lastToken += 1
            state.callbacks[state.lastToken] = callback
            return state.lastToken
        }
        return ObservationToken(observers: self, number: number)
    }

    func remove(_ number: UInt64) {
        _ = state.withLock { $0.callbacks.removeValue(forKey: number) }
    }

    func removeAll() {
        state.withLock { $0.callbacks.removeAll() }
    }

    /// Calls all, in the order in which they came, outside the lock: they may add and remove.
    func notify(_ sequence: UInt64) {
        let callbacks = state.withLock { state in
            state.callbacks.isEmpty ? [] : state.callbacks.sorted { $0.key < $1.key }.map(\.value)
        }
        for callback in callbacks { callback(sequence) }
    }
}

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
