import KithDocuments

/// Who is told after commits.
final class Observers: Sendable {
    private struct Observer: Sendable {
        let collection: CollectionName
        let callback: @Sendable (UInt64) -> Void
    }

    private struct State: Sendable {
        var lastToken: UInt64 = 0
        var callbacks: [UInt64: Observer] = [:]
    }

    private let state = Monitor(State())

    func add(_ collection: CollectionName, _ callback: @escaping @Sendable (UInt64) -> Void) -> ObservationToken {
        let number = state.update { state in
            state.lastToken += 1
            state.callbacks[state.lastToken] = Observer(collection: collection, callback: callback)
            return state.lastToken
        }
        return ObservationToken(observers: self, number: number)
    }

    func remove(_ number: UInt64) {
        _ = state.update { $0.callbacks.removeValue(forKey: number) }
    }

    func removeAll() {
        state.update { $0.callbacks.removeAll() }
    }

    /// Calls those of the collections that changed, in the order in which they came, outside the lock: they may add and
    /// remove.
    func notify(_ lastSequences: [CollectionName: UInt64]) {
        if lastSequences.isEmpty { return }
        let callbacks = state.update { state in
            state.callbacks.isEmpty ? [] : state.callbacks.sorted { $0.key < $1.key }.map(\.value)
        }
        for observer in callbacks {
            if let sequence = lastSequences[observer.collection] { observer.callback(sequence) }
        }
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
