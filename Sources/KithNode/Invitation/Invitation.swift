import Glibc
import KithDocuments
import KithTransport
import KithTrust

/// An invitation that this node has given: a code that is good once, for a time, and for few tries.
@LoopActor
final class Invitation {
    /// How it stands, as REST tells it.
    enum State: String {
        /// The code can be used, or is just being used.
        case open
        /// A machine has used it, and is trusted.
        case used
        /// Its time is over.
        case expired
        /// A person took it back, or the program that followed it ended.
        case cancelled
        /// Too many wrong codes came.
        case spent
    }

    /// Names it as long as the node runs.
    let number: Int
    /// The code's secret, as long as the code is good.
    private(set) var secret: InvitationSecret?
    /// What the other machine may do here; `nil` leaves what was said before, which of a new one is nothing.
    let terms: InvitationTerms?
    /// Until when it is good, in seconds since 1970; for people.
    let expiresSeconds: Int64
    private(set) var state = State.open
    private(set) var triesLeft = NodeLimits.invitationTriesMax
    /// Who has proved to know the code first; nobody else may use it from then on.
    private(set) var owner: NodeID?
    /// The machine that used it or tried last, for people: its name and address.
    var guest: (name: String, address: String)?
    private(set) var peer: Peer?
    /// By whom the machine that has used it was revoked here, if it was.
    private(set) var revocation: PeerRevocation?
    /// What the owner was told that it may do.
    private var told: JSONValue?
    /// Changes whenever something that is shown has changed.
    private(set) var version = 1
    private var timer: LoopTimer?
    private let deadline: Double
    /// Whether the owner is writing its book: until that has come to an end, nobody can say how this one ends.
    private var isBeingUsed = false
    /// How it ends unless the owner has it.
    private var pendingEnd: State?
    /// Called when it has changed.
    var onChange: ((Invitation) -> Void)?

    init(number: Int, secret: InvitationSecret, terms: InvitationTerms?, seconds: Double) {
        self.number = number
        self.secret = secret
        self.terms = terms
        expiresSeconds = WallClock.seconds + Int64(seconds)
        deadline = Self.now + seconds
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in self?.end(.expired) }
    }

    /// Whether the code can be used now. The time in which the machine sleeps counts, in which timers stand still.
    var isGood: Bool {
        if state == .open, Self.now >= deadline { end(.expired) }
        return state == .open && pendingEnd == nil
    }

    /// Ends it, unless it is over; while the owner writes its book, as soon as that has failed.
    func end(_ state: State) {
        guard self.state == .open else { return }
        guard !isBeingUsed else {
            pendingEnd = pendingEnd ?? state
            return
        }
        finish(state)
    }

    /// A machine has proved to know the code, and writes its book.
    ///
    /// - Parameter told: what it is told that it may do.
    func begin(_ id: NodeID, told: JSONValue) {
        owner = id
        self.told = told
        isBeingUsed = true
    }

    /// What the owner began has failed. It may try once more, if the time is not over.
    func release() {
        guard isBeingUsed else { return }
        isBeingUsed = false
        if let pendingEnd { finish(pendingEnd) }
    }

    func used(by peer: Peer, revoked revocation: PeerRevocation?) {
        self.peer = peer
        self.revocation = revocation
        finish(.used)
    }

    /// Counts a wrong code.
    func noteWrong() {
        guard state == .open, triesLeft > 0 else { return }
        triesLeft -= 1
        changed()
        if triesLeft == 0 { end(.spent) }
    }

    private func finish(_ state: State) {
        self.state = state
        isBeingUsed = false
        secret = nil
        timer?.cancel()
        timer = nil
        changed()
    }

    private func changed() {
        version += 1
        onChange?(self)
    }

    /// The invitation as REST tells it; the code is told to whoever has made it, and not again.
    var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("invitation", JSONValue(Int64(number))), ("version", JSONValue(Int64(version))),
            ("state", .string(state.rawValue)), ("terms", told ?? terms?.json ?? [:]),
            ("expires_at", .string(WallClock.text(expiresSeconds))), ("tries_left", JSONValue(Int64(triesLeft))),
        ]
        if let guest { members += [("name", .string(guest.name)), ("address", .string(guest.address))] }
        if let peer { members += [("peer", .string(peer.name)), ("short", .string(peer.id.short))] }
        if let revocation { members.append(("revocation", revocation.json)) }
        return JSONValue(object: members)
    }

    /// Seconds since the machine was started, those in which it slept included.
    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
