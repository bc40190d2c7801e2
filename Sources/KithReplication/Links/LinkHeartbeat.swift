/// Watches that the peer of a link is alive: asks it for a sign of life when it is quiet, and calls it dead when nothing comes.
///
/// A machine without clock and I/O: the shell calls `heard` for whatever it receives and `wake` at `wakeAtSeconds`. A dead
/// peer is found within 12 s of its last byte, twice `answerSeconds`. Both sides do this and a link that was ended says nothing
/// more, so where only one direction is lost both know within 24 s.
package struct LinkHeartbeat: Sendable {
    /// What is to be done.
    package enum Verdict: Equatable, Sendable {
        case nothing
        /// Send a ping.
        case ping
        /// The peer is dead: nothing was heard from it for so many seconds.
        case dead(silenceSeconds: Double)
    }

    /// When `wake` is to be called.
    package private(set) var wakeAtSeconds: Double
    private var heardAtSeconds: Double
    /// Whether the peer was asked and has not answered.
    private var isAsked = false
    /// Whether it was asked once more because this node stood still.
    private var hasOverslept = false

    /// Begins when the link is made.
    package init(atSeconds now: Double) {
        heardAtSeconds = now
        wakeAtSeconds = now + LinkLimits.quietSeconds
    }

    /// Something was received.
    package mutating func heard(atSeconds now: Double) {
        heardAtSeconds = now
        isAsked = false
        hasOverslept = false
    }

    /// Somebody says that the peer is dead: it is asked now. Being told again does not give it more time.
    ///
    /// - Returns: whether a ping is to be sent.
    package mutating func probe(atSeconds now: Double) -> Bool {
        guard !isAsked else { return false }
        ask(now)
        return true
    }

    /// The time that `wakeAtSeconds` told has come.
    ///
    /// - Parameter isDeaf: whether the shell does not read now. Then silence is its own doing; the ping is a sign of life for
    ///   the peer, which gets no other, not even an answer to its own pings.
    package mutating func wake(atSeconds now: Double, isDeaf: Bool) -> Verdict {
        guard now >= wakeAtSeconds else { return .nothing }
        if isDeaf {
            heard(atSeconds: now)
            wakeAtSeconds = now + LinkLimits.quietSeconds
            return .ping
        }
        if isAsked {
            let isLate = now - wakeAtSeconds > LinkLimits.oversleptSeconds
            guard isLate, !hasOverslept else { return .dead(silenceSeconds: now - heardAtSeconds) }
            // What the peer has sent meanwhile may not be read yet.
            hasOverslept = true
            ask(now)
            return .ping
        }
        let due = heardAtSeconds + LinkLimits.quietSeconds
        guard due <= now else {
            wakeAtSeconds = due
            return .nothing
        }
        ask(now)
        return .ping
    }

    private mutating func ask(_ now: Double) {
        isAsked = true
        wakeAtSeconds = now + LinkLimits.answerSeconds
    }
}
