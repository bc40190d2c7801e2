/// Decides for one peer and database when to dial, which of two links stays, and when to try again: one link for the pair, by
/// the same rule on both ends.
///
/// The rule: the node with the smaller ID *leads*. It dials at once, the other after a moment of courtesy, so that a node which
/// only one side can reach is reached all the same. When two links of the pair meet, the one that the leader opened stays:
/// the leader refuses to be dialled while it has opened a link or its own dial has been answered, the other never refuses. So a
/// pair never ends with two links, and never refuses each other both.
///
/// A machine without clock, I/O and randomness. Each input returns what to do; `wakeAtSeconds` says when to call `wake`.
package struct LinkKeeper: Sendable {
    /// What the keeper wants done.
    package enum Action: Equatable, Sendable {
        /// Begin to dial; one of `dialAnswered`, `dialOpened` and `dialFailed` says what comes of it.
        case dial
        /// Give the dial up without a word.
        case cancelDial
        /// End the link, since a newer one takes its place; `ended` is not called for it.
        case endLink
        /// Ask the peer on the link for a sign of life: somebody says that it is dead.
        case probeLink
    }

    /// Why nothing came of a dial.
    package enum Failure: Sendable {
        /// Nobody answered, or the answer was no.
        case failed
        /// The peer has a link, or is about to.
        case crossed
        /// There was no address to dial: somebody else must say that there is one.
        case noAddress
    }

    /// What a peer that opens a link is told.
    package enum Answer: Equatable, Sendable {
        /// It may: call `accepted` next.
        case accept
        /// No: this node has opened one.
        case linkedAlready
        /// No: this node is about to.
        case opening
    }

    private enum Phase: Sendable {
        case waiting
        case dialling(isAnswered: Bool)
        case linked(isOurs: Bool, sinceSeconds: Double)
    }

    /// Whether this node has the smaller ID of the two.
    package let leads: Bool
    /// When `wake` is to be called; `nil` means that something else must happen first.
    package private(set) var wakeAtSeconds: Double?

    private var phase = Phase.waiting
    private var backoff = LinkBackoff(
        secondsMin: LinkLimits.redialSecondsMin, secondsMax: LinkLimits.redialSecondsMax)
    private var dialledAtSeconds = -Double.infinity
    /// Whether the dial that is next, or under way, is one because discovery or the network said so.
    private var isHurried = false
    /// How many of those led nowhere since there was a link.
    private var wrongWords = 0
    /// Whether discovery or the network said so while a dial was under way that was too young to be given up.
    private var isHurryKept = false

    package init(leads: Bool) { self.leads = leads }

    package var isLinked: Bool { if case .linked = phase { true } else { false } }
    package var isDialling: Bool { if case .dialling = phase { true } else { false } }

    private var courtesySeconds: Double { leads ? 0 : LinkLimits.courtesySeconds }

    // MARK: Dialling

    /// Begins, by dialling at once.
    package mutating func start(_ moment: LinkMoment) { wait(moment, windowSeconds: 0) }

    /// The time that `wakeAtSeconds` told has come.
    package mutating func wake(atSeconds now: Double) -> [Action] {
        guard case .waiting = phase, let due = wakeAtSeconds, due <= now else { return [] }
        wakeAtSeconds = nil
        isHurryKept = false
        phase = .dialling(isAnswered: false)
        dialledAtSeconds = now
        return [.dial]
    }

    /// The right peer has answered the dial, and was asked for a link; or nothing came of that and the dial goes on elsewhere.
    package mutating func dialAnswered(_ isAnswered: Bool) {
        if isDialling { phase = .dialling(isAnswered: isAnswered) }
    }

    /// The peer has taken the link.
    ///
    /// - Returns: false when the link is not wanted any more, and is to be dropped.
    package mutating func dialOpened(atSeconds now: Double) -> Bool {
        guard isDialling else { return false }
        phase = .linked(isOurs: true, sinceSeconds: now)
        return true
    }

    /// Nothing came of the dial.
    package mutating func dialFailed(_ failure: Failure, _ moment: LinkMoment) {
        guard isDialling else { return }
        phase = .waiting
        let wasHurried = isHurried
        isHurried = false
        switch failure {
        case .noAddress: return
        case .crossed: break
        case .failed: if wasHurried { wrongWords += 1 }
        }
        wait(moment, windowSeconds: backoff.nextWindowSeconds())
        if isHurryKept { _ = hurry(moment, isNews: false) }
    }

    // MARK: Being dialled

    /// The peer wants to open a link.
    package mutating func asked() -> (answer: Answer, actions: [Action]) {
        guard leads else { return (.accept, []) }
        switch phase {
        case .linked(isOurs: true, _): return (.linkedAlready, [.probeLink])
        case .dialling(isAnswered: true): return (.opening, [])
        default: return (.accept, [])
        }
    }

    /// The link that the peer has opened is there.
    package mutating func accepted(atSeconds now: Double) -> [Action] {
        let old: [Action] =
            switch phase {
            case .waiting: []
            case .dialling: [.cancelDial]
            case .linked: [.endLink]
            }
        wakeAtSeconds = nil
        isHurried = false
        phase = .linked(isOurs: false, sinceSeconds: now)
        return old
    }

    // MARK: The link

    /// The link works: both sides have what the other has.
    package mutating func settled() {
        backoff.reset()
        wrongWords = 0
    }

    /// The link has ended.
    package mutating func ended(_ moment: LinkMoment) {
        guard case .linked(_, let since) = phase else { return }
        phase = .waiting
        if moment.seconds - since >= LinkLimits.provenSeconds { settled() }
        wait(moment, windowSeconds: backoff.nextWindowSeconds())
    }

    // MARK: Words from outside

    /// Discovery sees the peer, or the network has come back: dials at once, or as soon as words that led nowhere before allow.
    ///
    /// - Parameter isNews: whether a dial under way knows less than that, and is begun anew unless the peer has answered it or it
    ///   has only just begun.
    package mutating func hurry(_ moment: LinkMoment, isNews: Bool) -> [Action] {
        var actions: [Action] = []
        switch phase {
        case .linked: return []
        case .dialling(let isAnswered):
            guard isNews else { return [] }
            // Whoever sends word after word must not keep every dial from getting anywhere.
            guard !isAnswered, hurryAllowedAtSeconds <= moment.seconds else {
                isHurryKept = true
                return []
            }
            if isHurried { wrongWords += 1 }
            _ = backoff.nextWindowSeconds()
            phase = .waiting
            actions = [.cancelDial]
        case .waiting: break
        }
        let wanted = moment.seconds + courtesySeconds + moment.chance * moment.spreadSeconds
        let due = max(hurryAllowedAtSeconds, wanted)
        if wakeAtSeconds.map({ due < $0 }) ?? true {
            wakeAtSeconds = due
            isHurried = true
            // Retried soon if it comes to nothing, but the less so the more often that was.
            backoff.forgive(to: wrongWords)
        }
        return actions
    }

    /// When a word from outside may have its way again.
    private var hurryAllowedAtSeconds: Double {
        let wait = LinkLimits.redialSecondsMin * Double(1 << min(wrongWords, 10))
        return dialledAtSeconds + min(LinkLimits.hurrySecondsMax, wait)
    }

    /// Waits for the lower half of a window and a random part of the upper half.
    private mutating func wait(_ moment: LinkMoment, windowSeconds: Double) {
        let half = windowSeconds / 2
        wakeAtSeconds = moment.seconds + courtesySeconds + half + moment.chance * max(half, moment.spreadSeconds)
    }
}
