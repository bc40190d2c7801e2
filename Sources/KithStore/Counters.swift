/// What the table `meta` counts, so that nobody has to count documents.
struct Counters {
    /// The highest sequence that was ever given to a change.
    var lastSequence: UInt64 = 0
    /// Documents whose winner is live.
    var live = 0
    /// Documents whose winner is a tombstone.
    var deleted = 0
    /// Documents with more than one live leaf.
    var conflicts = 0

    mutating func add(_ flags: DocumentFlags, _ change: Int) {
        if flags.contains(.isDeleted) { deleted += change } else { live += change }
        if flags.contains(.isInConflict) { conflicts += change }
    }
}
