import KithDocuments

/// Which documents in conflict are to be looked at, and when: a machine without I/O, clock and randomness.
///
/// A document is looked at once at a time, at once when it is noted. One that comes back into conflict again and again (other
/// nodes resolve it in another way, or somebody writes it all the time) waits longer each time, by a random part less on
/// each node, so that one of them is first and the others find nothing to do. Memory is bounded.
struct ConflictAgenda {
    /// A document of a collection.
    struct Key: Hashable, Sendable {
        let collection: CollectionName
        let id: DocumentID
    }

    /// What became of looking at a document.
    enum Outcome: Sendable {
        /// The conflict, or a part of it, is resolved.
        case resolved
        /// It was in conflict no more.
        case unchanged
        /// The document has changed while it was looked at.
        case overtaken
        /// It is of no use to try again before the document changes.
        case failed
        /// It is tried again later.
        case failedForNow
        /// These versions are left to a node that knows more, for a while.
        case waits([RevisionID])
    }

    /// Versions that are left to a node that knows more.
    struct Waiting: Sendable {
        let versions: [RevisionID]
        let since: Int64

        /// Whether they are merged by what is here: nobody who knows more has done it. Other versions have a time of their own,
        /// since who knows more of these may only just have heard of them.
        func isOver(for versions: [RevisionID], now: Int64) -> Bool {
            versions == self.versions && now - since >= StoreLimits.conflictPatienceMilliseconds
        }
    }

    private struct Entry {
        /// Times that it was resolved without a quiet time in between.
        var rounds = 0
        var failures = 0
        var lastAt: Int64 = .min
        var notBefore: Int64 = .min
        /// When it is to be looked at; nil while it does not wait.
        var due: Int64?
        /// Rising with each wait, so that the first is taken first.
        var place: UInt64 = 0
        /// Whether it waits for another attempt after one that failed.
        var isRetry = false
        var waiting: Waiting?
        var isRunning = false
        var isNotedAgain = false
    }

    private var entries: [Key: Entry] = [:]
    private var waitingCount = 0
    private var retryCount = 0
    private var lastPlace: UInt64 = 0
    private var hasForgotten = false

    /// Whether more can be noted; otherwise it has to wait until something is finished.
    ///
    /// Those that failed and are tried again take no room of the others.
    var hasRoom: Bool { waitingCount - retryCount < StoreLimits.conflictsWaitingMax }

    /// Documents that it knows of: for tests.
    var entryCount: Int { entries.count }

    /// When the next one is due, in milliseconds; nil when none waits.
    var nextDue: Int64? { waitingCount == 0 ? nil : entries.values.compactMap(\.due).min() }

    /// What of a document is left to a node that knows more.
    func waiting(_ key: Key) -> Waiting? { entries[key]?.waiting }

    /// Notes that a document has changed and is in conflict.
    mutating func note(_ key: Key, now: Int64) {
        var entry = entries[key] ?? Entry()
        // Compared this way round, since it may never have been looked at.
        if entry.lastAt < now - StoreLimits.conflictQuietMilliseconds { (entry.rounds, entry.failures) = (0, 0) }
        if entry.isRunning {
            entry.isNotedAgain = true
            entries[key] = entry
        } else {
            // A change ends the wait for another attempt, and not that between rounds.
            stopWaiting(&entry)
            wait(key, &entry, until: max(now, entry.notBefore))
        }
    }

    /// Notes that a document is in conflict, of which nothing else is known: one that waits goes on waiting.
    mutating func noteFound(_ key: Key, now: Int64) {
        if let entry = entries[key], entry.isRunning || entry.due != nil { return }
        note(key, now: now)
    }

    /// Whether some that have failed for now were let go because too many waited, and there is room for them again: then
    /// all that are there have to be looked through once more.
    mutating func takeForgotten() -> Bool {
        guard hasForgotten, retryCount <= StoreLimits.conflictsWaitingMax / 2 else { return false }
        hasForgotten = false
        return true
    }

    /// Forgets a document that is in conflict no more.
    mutating func forget(_ key: Key) {
        guard var entry = entries[key], entry.due != nil || entry.isNotedAgain || entry.waiting != nil else { return }
        stopWaiting(&entry)
        entry.isNotedAgain = false
        entry.waiting = nil
        entries[key] = entry
    }

    /// Takes documents that are due; each is `finish`ed later.
    mutating func take(_ countMax: Int, now: Int64) -> [Key] {
        guard countMax > 0, waitingCount > 0 else { return [] }
        let due = entries.filter { $0.value.due.map { $0 <= now } ?? false }.sorted { $0.value.place < $1.value.place }
        return due.prefix(countMax).map { key, entry in
            var entry = entry
            stopWaiting(&entry)
            entry.isRunning = true
            entries[key] = entry
            return key
        }
    }

    /// Says what became of a document that was taken.
    ///
    /// - Parameter random: from 0 to 1.
    mutating func finish(_ key: Key, _ outcome: Outcome, now: Int64, random: Double) {
        guard var entry = entries[key], entry.isRunning else { return }
        let isNotedAgain = entry.isNotedAgain
        (entry.isRunning, entry.isNotedAgain) = (false, false)
        entry.lastAt = now
        switch outcome {
        case .resolved, .overtaken:
            entry.rounds += 1
            entry.failures = 0
            let late = entry.rounds - StoreLimits.conflictRoundsAtOnce
            entry.notBefore =
                late <= 0
                ? now
                : now
                    + Self.delay(
                        StoreLimits.conflictDelayMillisecondsMin, late,
                        max: StoreLimits.conflictDelayMillisecondsMax, random)
        case .unchanged, .failed: break
        case .failedForNow: entry.failures += 1
        case .waits(let versions):
            if entry.waiting?.versions != versions { entry.waiting = Waiting(versions: versions, since: now) }
        }
        let isTriedAgain: Bool
        switch outcome {
        case .waits: isTriedAgain = true
        case .failedForNow: (isTriedAgain, entry.waiting) = (true, nil)
        case .resolved, .unchanged, .overtaken, .failed: (isTriedAgain, entry.waiting) = (false, nil)
        }
        var again = isNotedAgain ? max(now, entry.notBefore) : nil
        if case .overtaken = outcome { again = entry.notBefore }
        if isTriedAgain, again == nil, retryCount >= StoreLimits.conflictsWaitingMax {
            hasForgotten = true
        } else if isTriedAgain, again == nil {
            retryCount += 1
            entry.isRetry = true
            again =
                now
                + Self.delay(
                    StoreLimits.conflictRetryMillisecondsMin, max(1, entry.failures),
                    max: StoreLimits.conflictRetryMillisecondsMax, random)
        }
        if let again { wait(key, &entry, until: again) } else { entries[key] = entry }
        if entries.count > StoreLimits.conflictsRememberedMax { dropOldest() }
    }

    private mutating func wait(_ key: Key, _ entry: inout Entry, until due: Int64) {
        waitingCount += 1
        lastPlace += 1
        entry.place = lastPlace
        entry.due = due
        entries[key] = entry
    }

    private mutating func stopWaiting(_ entry: inout Entry) {
        guard entry.due != nil else { return }
        entry.due = nil
        waitingCount -= 1
        if entry.isRetry { retryCount -= 1 }
        entry.isRetry = false
    }

    /// Doubles with each time, and is shorter by a random part.
    private static func delay(_ first: Int64, _ times: Int, max most: Int64, _ random: Double) -> Int64 {
        let whole = min(most, first << Int64(min(times - 1, 20)))
        return whole - Int64(Double(whole / 2) * random)
    }

    /// Forgets how often documents came back, those first that have been quiet for longest.
    private mutating func dropOldest() {
        let idle = entries.filter { $0.value.due == nil && !$0.value.isRunning }
        for (key, _) in idle.sorted(by: { $0.value.lastAt < $1.value.lastAt }).prefix((idle.count + 1) / 2) {
            entries[key] = nil
        }
    }
}
