import KithDocuments
import KithTransport
import KithTrust

/// An invitation that this node has given: a code that is good once, for a time, and for few tries.
@LoopActor
final class Invitation {
    /// How it stands, as REST tells it.
    enum State: String {
        /// The code can be used.
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
    let code: InvitationCode
    let secret: InvitationSecret
    /// What the other machine may do here; `nil` leaves what was said before, which of a new one is nothing.
    let terms: InvitationTerms?
    /// Until when it is good, in seconds since 1970.
    let expiresSeconds: Int64
    private(set) var state = State.open
    private(set) var triesLeft = NodeLimits.invitationTriesMax
    /// Who has proved to know the code first; nobody else may use it from then on.
    var owner: NodeID?
    /// The machine that used it or tried last, for people: its name and address.
    var guest: (name: String, address: String)?
    private(set) var peer: Peer?
    /// Changes whenever something that is shown has changed.
    private(set) var version = 1
    private var timer: LoopTimer?
    /// Called when it has changed.
    var onChange: ((Invitation) -> Void)?

    init(number: Int, code: InvitationCode, secret: InvitationSecret, terms: InvitationTerms?, seconds: Double) {
        self.number = number
        self.code = code
        self.secret = secret
        self.terms = terms
        expiresSeconds = WallClock.seconds + Int64(seconds)
        timer = EventLoop.shared.schedule(afterSeconds: seconds) { [weak self] in self?.end(.expired) }
    }

    /// Ends it, unless it is over.
    func end(_ state: State) {
        guard self.state == .open else { return }
        self.state = state
        timer?.cancel()
        timer = nil
        changed()
    }

    func used(by peer: Peer) {
        self.peer = peer
        end(.used)
    }

    /// Counts a wrong code.
    func noteWrong() {
        guard state == .open else { return }
        triesLeft -= 1
        if triesLeft == 0 { end(.spent) } else { changed() }
    }

    private func changed() {
        version += 1
        onChange?(self)
    }

    /// The invitation as REST tells it; the code is told to whoever has made it, and not again.
    var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("invitation", JSONValue(Int64(number))), ("version", JSONValue(Int64(version))),
            ("state", .string(state.rawValue)), ("terms", terms?.json ?? [:]),
            ("expires_at", .string(WallClock.text(expiresSeconds))), ("tries_left", JSONValue(Int64(triesLeft))),
        ]
        if let guest { members += [("name", .string(guest.name)), ("address", .string(guest.address))] }
        if let peer { members += [("peer", .string(peer.name)), ("short", .string(peer.id.short))] }
        return JSONValue(object: members)
    }
}
