import KithDocuments

/// Who is told after commits, of this process and of others.
final class Observers: Sendable {
    private struct Observer: Sendable {
        let interest: Interest
        let onClose: (@Sendable () -> Void)?
    }

    /// What an observer is told of.
    enum Interest: Sendable {
        /// One collection: its last sequence.
        case one(CollectionName, @Sendable (UInt64) -> Void)
        /// All collections: the last sequences of those that have changed.
        case all(@Sendable ([CollectionName: UInt64]) -> Void)
    }

    /// What a collection's observers know already.
    private struct Told: Sendable {
        /// Which collection it was; nil where only its name is known.
        var number: Int?
        var sequence: UInt64
    }

    private struct State: Sendable {
        var lastToken: UInt64 = 0
        var observers: [UInt64: Observer] = [:]
        var told: [CollectionName: Told] = [:]
        /// Hears commits of other processes, while there are observers.
        var watch: BellWatch?
        var isClosed = false
    }

    private let state = Monitor(State())

    /// How many there are.
    var count: Int { state.update { $0.observers.count } }

    /// Adds one.
    ///
    /// - Parameters:
    ///   - collection: nil for all; it is called with the highest of their sequences then.
    ///   - onClose: called when the database closes before the observation has ended, also when it is closed already.
    ///   - startWatching: gives the watch that is kept while there are observers.
    func add(
        _ interest: Interest, onClose: (@Sendable () -> Void)? = nil, startWatching: () -> BellWatch?
    ) -> ObservationToken {
        let number: UInt64? = state.update { state in
            state.lastToken += 1
            if state.isClosed { return nil }
            state.observers[state.lastToken] = Observer(interest: interest, onClose: onClose)
            if state.watch == nil { state.watch = startWatching() }
            return state.lastToken
        }
        if number == nil { onClose?() }
        return ObservationToken(observers: self, number: number ?? 0)
    }

    func remove(_ number: UInt64) {
        // Let go of outside the lock.
        let watch: BellWatch? = state.update { state in
            state.observers[number] = nil
            return state.observers.isEmpty ? Self.stopWatching(&state) : nil
        }
        watch?.cancel()
    }

    /// Ends all observations, since the database closes.
    func close() {
        let (watch, observers) = state.update { state in
            state.isClosed = true
            let observers = Self.inOrder(state)
            state.observers.removeAll()
            return (Self.stopWatching(&state), observers)
        }
        watch?.cancel()
        for observer in observers { observer.onClose?() }
    }

    /// Hears no more of other processes; observers are still told of this one.
    func stopWatching() {
        state.update { Self.stopWatching(&$0) }?.cancel()
    }

    private static func stopWatching(_ state: inout State) -> BellWatch? {
        // What is told meanwhile is not noted, so the next observer begins anew.
        state.told = [:]
        defer { state.watch = nil }
        return state.watch
    }

    private static func inOrder(_ state: State) -> [Observer] {
        state.observers.isEmpty ? [] : state.observers.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Whether it is not known yet what an observer of a collection has seen when it began.
    func needsBeginning(_ collection: CollectionName) -> Bool {
        state.update { $0.told[collection] == nil }
    }

    /// Notes what the observers of a collection have seen when the first of them began.
    func begin(_ collection: CollectionName, number: Int?, sequence: UInt64) {
        state.update { state in
            if state.told[collection] == nil { state.told[collection] = Told(number: number, sequence: sequence) }
        }
    }

    /// Tells of a commit of this process: calls those of the collections that changed, in the order in which they came,
    /// outside the lock: they may add and remove.
    func notify(_ lastSequences: [CollectionName: UInt64]) {
        if lastSequences.isEmpty { return }
        let observers = state.update { state in
            if state.watch != nil {
                for (name, sequence) in lastSequences {
                    state.told[name] = Told(number: state.told[name]?.number, sequence: sequence)
                }
            }
            return Self.inOrder(state)
        }
        for observer in observers {
            switch observer.interest {
            case .one(let collection, let onCommit):
                if let sequence = lastSequences[collection] { onCommit(sequence) }
            case .all(let onCommit): onCommit(lastSequences)
            }
        }
    }

    /// Tells what was committed by other processes, from the state of all collections.
    func notifyOfOthers(_ collections: [CollectionPlace]) {
        let changed: [CollectionName: UInt64] = state.update { state in
            var changed: [CollectionName: UInt64] = [:]
            let hasObserverOfAll = state.observers.values.contains {
                if case .all = $0.interest { true } else { false }
            }
            for place in collections {
                if let told = state.told[place.name] {
                    // One that was dropped and made anew begins again with its sequences.
                    let isAnother = told.number.map { $0 != place.number } ?? false
                    if isAnother || place.lastSequence > told.sequence { changed[place.name] = place.lastSequence }
                } else if hasObserverOfAll {
                    // It was made after the observation began.
                    changed[place.name] = place.lastSequence
                }
                state.told[place.name] = Told(number: place.number, sequence: place.lastSequence)
            }
            return changed
        }
        notify(changed)
    }
}
