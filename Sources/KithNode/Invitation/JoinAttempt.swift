import KithDocuments
import KithTransport
import KithTrust

/// The use of a code that a person was given: it is tried with the machine that is meant, or with all that are nearby.
@LoopActor
final class JoinAttempt {
    /// A machine that the code may be of.
    struct Candidate {
        var addresses: [SocketAddress]
        /// Who was announced there, if that is known.
        var shortID: String?
    }

    /// Names it as long as the node runs.
    let number: Int
    /// Changes whenever something that is shown has changed.
    private(set) var version = 1
    /// The entry in the book, once there is one.
    private(set) var peer: Peer?
    /// By whom that machine was revoked here, if it was.
    private(set) var revocation: PeerRevocation?
    private(set) var terms: JSONValue?
    private(set) var isConfirmed = false
    private(set) var error: KithError?
    private(set) var isOver = false
    /// Machines that were given a proof and did not turn out to be the one that gave the code: each may have tested a
    /// guess.
    private(set) var doubtful = 0
    private(set) var lastDoubtful = ""
    private let asked: Int
    private var waiting: ArraySlice<Candidate>
    private var links: [InvitationLink] = []
    /// The one that this node proves itself to now.
    private weak var proving: InvitationLink?
    private var errors: [KithError] = []
    private var dial: ((Candidate) -> InvitationLink)?
    private var trust: ((InvitationLink) throws(KithError) -> (peer: Peer, revocation: PeerRevocation?))?
    private let onChange: (JoinAttempt) -> Void
    private var timer: LoopTimer?

    /// - Parameters:
    ///   - candidates: in an order that nobody else can choose, where there are several.
    ///   - dial: makes the link with a candidate.
    ///   - trust: writes the machine at the other end into the book, and says by whom it was revoked before.
    ///   - onChange: called when something that is shown has changed.
    init(
        number: Int, candidates: [Candidate], dial: @escaping (Candidate) -> InvitationLink,
        trust: @escaping (InvitationLink) throws(KithError) -> (peer: Peer, revocation: PeerRevocation?),
        onChange: @escaping (JoinAttempt) -> Void
    ) {
        self.number = number
        asked = candidates.count
        waiting = candidates[...]
        self.dial = dial
        self.trust = trust
        self.onChange = onChange
    }

    func start() {
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.joinSecondsMax) { [weak self] in
            self?.stop(KithError(.timedOut, "the machines nearby did not all answer in time"), .expired)
        }
        advance()
    }

    /// Gives it up, unless it is over. A machine that is in the book stays there.
    func end(_ reason: InvitationEnd) { stop(KithError(.closed, "the exchange was given up"), reason) }

    private func stop(_ error: KithError, _ reason: InvitationEnd) {
        guard !isOver else { return }
        waiting = []
        if peer == nil { self.error = self.error ?? error }
        for link in links { link.end(reason) }
        advance()
    }

    private func advance() {
        guard !isOver else { return }
        while peer == nil, error == nil, links.count < NodeLimits.joinsAtOnceMax, let next = waiting.popFirst(),
            let link = dial?(next)
        {
            links.append(link)
            link.onChange = { [weak self] in self?.changed($0) }
            link.start()
        }
        proveToNext()
        guard links.isEmpty, !isOver else { return }
        isOver = true
        timer?.cancel()
        (dial, trust, timer) = (nil, nil, nil)
        if peer == nil, error == nil { error = mostTelling() }
        version += 1
        onChange(self)
    }

    /// Each machine that gets a proof can test one guess against it: only one after the other gets one, and only few.
    private func proveToNext() {
        guard proving == nil, peer == nil, let next = links.first(where: { $0.session?.state == .challenged }) else {
            return
        }
        guard doubtful < NodeLimits.joinProofsMax else {
            return stop(
                KithError(
                    .notTrusted, "\(doubtful) machines answered that do not know the code; somebody may be guessing",
                    remedy: "Say which machine gave the code:  kith pair join CODE NAME"), .cancelled)
        }
        proving = next
        next.prove()
    }

    private func changed(_ link: InvitationLink) {
        guard links.contains(where: { $0 === link }) else { return }
        if link.session?.state == .agreed {
            guard peer == nil, error == nil, let trust else { return link.end(.cancelled) }
            do {
                let trusted = try trust(link)
                (peer, revocation) = (trusted.peer, trusted.revocation)
                terms = link.session?.terms
                link.stored()
                // The code is good once, and has been used.
                waiting = []
                for other in links where other !== link { other.end(.cancelled) }
            } catch {
                self.error = error
                link.end(.failed)
            }
        }
        if link.isOver, links.contains(where: { $0 === link }) {
            links.removeAll { $0 === link }
            if case .paired(let isConfirmed) = link.session?.state {
                self.isConfirmed = isConfirmed
            } else {
                errors.append(link.failure)
                if proving === link {
                    doubtful += 1
                    lastDoubtful = link.address
                }
            }
            if proving === link { proving = nil }
        }
        advance()
    }

    /// Of what went wrong with several machines that what a person can do something about.
    private func mostTelling() -> KithError {
        if let wrong = errors.first(where: { $0.code == .notTrusted }) { return wrong }
        if let other = errors.first(where: { $0.code != .notFound && $0.code != .connectionLost }) { return other }
        if asked == 1, let only = errors.first { return only }
        return KithError(
            .notFound,
            asked == 0 ? "no other node is seen nearby" : "none of the \(asked) nodes nearby has an invitation open",
            remedy: "Look whether the code is still good; or say where:  kith pair join CODE HOST:PORT")
    }

    /// The attempt as REST tells it.
    var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("join", JSONValue(Int64(number))), ("version", JSONValue(Int64(version))),
            ("state", .string(!isOver ? "trying" : peer == nil ? "failed" : "paired")),
        ]
        if let peer {
            members += [
                ("peer", .string(peer.name)), ("short", .string(peer.id.short)), ("confirmed", .bool(isConfirmed)),
                ("terms", terms ?? .null), ("doubtful", JSONValue(Int64(doubtful))),
            ]
            if let revocation { members.append(("revocation", revocation.json)) }
        } else if let error {
            members += [("error", .string(error.code.name)), ("message", .string(error.message))]
            if let remedy = error.remedy { members.append(("remedy", .string(remedy))) }
        }
        return JSONValue(object: members)
    }
}

extension InvitationLink {
    /// Why nothing was paired, for the person who has typed the code.
    var failure: KithError {
        guard case .failed(let reason, let byPeer, let triesLeft) = session?.state else {
            return error ?? KithError(.connectionLost, "the connection with \(address) was lost; nothing was paired")
        }
        switch reason {
        case .wrong:
            let left = triesLeft.map { $0 == 1 ? ". 1 try left" : ". \($0) tries left" } ?? ""
            return KithError(
                .notTrusted, "that code is not valid: mistyped, already used, or expired\(left)",
                remedy: triesLeft == 0
                    ? "Ask for a new one with: kith pair invite" : "Type it once more, or ask for a new one")
        case .none: return KithError(.notFound, "\(address) has no invitation open")
        case .busy:
            return KithError(.busy, "too many machines try a code at \(address)", remedy: "Try again in a minute")
        case .expired: return KithError(.timedOut, "\(address) did not answer in time")
        case .broken where !byPeer:
            return KithError(
                .notTrusted, "\(address) does not know the code: it is another machine, or the code is mistyped",
                remedy: "Somebody may be listening. Type it once more; if it ends so again, compare a number: kith pair"
            )
        case .broken: return KithError(.protocolViolation, "\(address) does not understand this version of pairing")
        case .failed where byPeer:
            return KithError(.inputOutput, "\(address) could not write down that it trusts this node")
        case .failed, .cancelled: return error ?? KithError(.closed, "\(address) gave up; nothing was paired")
        }
    }
}
