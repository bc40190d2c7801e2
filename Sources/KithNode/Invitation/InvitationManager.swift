import KithDocuments
import KithTransport
import KithTrust

/// The invitation that this node has given, the machines that try its code, and the codes that are used here.
///
/// Only one invitation is open at a time: a code says nothing of which it is of, and each try must count.
@LoopActor
final class InvitationManager {
    private let ownID: NodeID
    private let ownName: String
    private let newcomers: Newcomers
    private let book: PeerBook
    private let log: NodeLog
    /// The client's side of TLS: takes any key, since the code decides about it.
    private var client: TLSContext
    private var invitations: [Invitation] = []
    private var joins: [JoinAttempt] = []
    private var guests: [InvitationLink] = []
    private var isMaking = false
    private var joinsBeginning = 0
    private var refusalsUnderWay = 0
    private var nextNumber = 1
    private var isStopped = false
    /// Called whenever something that is shown has changed.
    var onChange: (() -> Void)?

    init(
        identity: TLSIdentity, ownID: NodeID, ownName: String, book: PeerBook, newcomers: Newcomers, log: NodeLog
    ) throws(KithError) {
        self.ownID = ownID
        self.ownName = ownName
        self.newcomers = newcomers
        self.book = book
        self.log = log
        client = try Self.client(identity)
    }

    private static func client(_ identity: TLSIdentity) throws(KithError) -> TLSContext {
        try TLSContext.client(
            identity: identity, verify: { _ in .trusted }, applicationProtocol: InvitationSession.applicationProtocol)
    }

    /// Shows another certificate from now on.
    func use(_ identity: TLSIdentity) throws(KithError) { client = try Self.client(identity) }

    func invitation(_ number: Int) -> Invitation? { invitations.first { $0.number == number } }
    func join(_ number: Int) -> JoinAttempt? { joins.first { $0.number == number } }
    /// The one whose code can be used now.
    var open: Invitation? { invitations.first(where: \.isGood) }

    // MARK: Inviting

    /// Opens an invitation.
    ///
    /// - Parameters:
    ///   - terms: what the other machine may do here; `nil` leaves what was said before, which of a new one is nothing.
    ///   - seconds: how long it is good, within `NodeLimits.invitationSecondsRange`.
    /// - Returns: the invitation, and its code, which is not kept.
    /// - Throws: `.conflict` when one is open; `.badRequest` for a time out of range; `.closed` when the node stops.
    func invite(terms: InvitationTerms?, seconds: Double) async throws(KithError) -> (Invitation, InvitationCode) {
        guard NodeLimits.invitationSecondsRange.contains(seconds) else {
            throw KithError(
                .badRequest,
                "an invitation is good for \(Int(NodeLimits.invitationSecondsRange.lowerBound)) to \(Int(NodeLimits.invitationSecondsRange.upperBound)) seconds"
            )
        }
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        guard !invitations.contains(where: { $0.isGood || $0.state == .open }), !isMaking else {
            throw KithError(
                .conflict, "an invitation is open already",
                remedy: "Take it back with Ctrl-C where it was made, or wait until it was used")
        }
        isMaking = true
        defer { isMaking = false }
        let code = try InvitationCode.random()
        let secret = try await Self.secret(of: code)
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        let invitation = Invitation(
            number: takeNumber(), secret: secret, terms: terms, seconds: seconds)
        invitation.onChange = { [weak self] in self?.changed($0) }
        invitations.append(invitation)
        if invitations.count > NodeLimits.invitationsRememberedMax { invitations.removeFirst() }
        log("invitation \(invitation.number) is open until \(WallClock.text(invitation.expiresSeconds))")
        onChange?()
        return (invitation, code)
    }

    /// Takes a connection of a machine that wants to use a code. When there is no room, the oldest of whoever has most
    /// gives way, unless it has proved to know the code.
    func accept(_ connection: Connection, _ info: ConnectionInfo) {
        guard let invitation = open, let secret = invitation.secret else { return refuse(connection, info, .none) }
        let requests = guests.map {
            PairingRoom.Request(group: PairingRoom.group(ofAddress: $0.address), isUnheeded: $0.isUnheeded)
        }
        switch PairingRoom.verdict(requests, newcomer: PairingRoom.group(ofAddress: info.remoteName)) {
        case .room: break
        case .replace(let place): guests[place].end(.busy)
        case .full: return refuse(connection, info, .busy)
        }
        let link = InvitationLink(
            accepted: connection, info: info, own: InvitationLink.Own(id: ownID, name: ownName, secret: secret))
        guard !link.isOver else { return }
        guests.append(link)
        link.onChange = { [weak self] in self?.guestChanged($0, invitation) }
    }

    private func refuse(_ connection: Connection, _ info: ConnectionInfo, _ reason: InvitationEnd) {
        let why = reason == .busy ? "and too many do already" : "and no invitation is open"
        log.aboutStranger(
            "\(info.remoteName)  wants to use a code, \(why)",
            key: "join \(PairingRoom.group(ofAddress: info.remoteName))")
        // What was said needs a moment to go out; many at once are not worth it.
        guard refusalsUnderWay < NodeLimits.pairingsMax else { return connection.abort() }
        refusalsUnderWay += 1
        connection.write(InvitationSession.refusal(reason))
        connection.close()
        EventLoop.shared.schedule(afterSeconds: NodeLimits.pairingLingerSeconds) { [weak self] in
            connection.abort()
            self?.refusalsUnderWay -= 1
        }
    }

    private func guestChanged(_ link: InvitationLink, _ invitation: Invitation) {
        if let session = link.session {
            let name = session.peerName ?? session.peerID.short
            let who = "\(name)  \(session.peerID.short)  \(link.address)"
            switch session.state {
            case .proved:
                guard invitation.isGood, invitation.owner.map({ $0 == session.peerID }) ?? true else {
                    return link.end(.none)
                }
                let terms = terms(of: invitation, for: session.peerID)
                invitation.begin(session.peerID, told: terms)
                link.offer(terms)
            case .failed(.wrong, byPeer: false, triesLeft: nil):
                invitation.guest = (name, link.address)
                invitation.noteWrong()
                log.aboutStranger("\(who)  used a wrong code", key: "wrong code \(session.peerID)")
                link.refuse(triesLeft: invitation.triesLeft)
            case .agreed:
                do {
                    let revocation = book.revokedPeer(session.peerID)?.revocation
                    let peer = try newcomers.trust(
                        session.peerID, calling: session.peerName, at: nil, by: .invitation,
                        terms: invitation.terms)
                    link.stored()
                    invitation.guest = (name, link.address)
                    invitation.used(by: peer, revoked: revocation)
                    if let revocation { note(peer, revoked: revocation) }
                } catch {
                    log("\(who)  could not be trusted: \(error.message)")
                    link.end(.failed)
                }
            default: break
            }
        }
        guard link.isOver, guests.contains(where: { $0 === link }) else { return }
        guests.removeAll { $0 === link }
        if link.session.map({ $0.peerID == invitation.owner }) ?? false { invitation.release() }
    }

    /// What the other machine is told that it may do here.
    private func terms(of invitation: Invitation, for id: NodeID) -> JSONValue {
        invitation.terms?.json ?? (book.peer(id) == nil ? [:] : ["as_before": true])
    }

    private func changed(_ invitation: Invitation) {
        switch invitation.state {
        case .open: break
        case .used: log("invitation \(invitation.number) was used by \(invitation.peer?.name ?? "")")
        case .spent: log("invitation \(invitation.number) is good no more: too many wrong codes came")
        case .expired: log("invitation \(invitation.number) has expired")
        case .cancelled: log("invitation \(invitation.number) was taken back")
        }
        if invitation.state != .open { for guest in guests { guest.end(.none) } }
        onChange?()
    }

    // MARK: Being invited

    /// Uses a code.
    ///
    /// - Parameter candidates: the machines that it may be of.
    /// - Throws: `.busy` when codes are being tried already; `.closed` when the node stops.
    func use(_ code: InvitationCode, with candidates: [JoinAttempt.Candidate]) async throws(KithError) -> JoinAttempt {
        guard joinsBeginning + joins.count(where: { !$0.isOver }) < NodeLimits.joinsAtOnceMax else {
            throw KithError(.busy, "several codes are being tried already", remedy: "Try again in a minute")
        }
        joinsBeginning += 1
        defer { joinsBeginning -= 1 }
        let secret = try await Self.secret(of: code)
        guard !isStopped else { throw KithError(.closed, "the node is stopping") }
        let own = InvitationLink.Own(id: ownID, name: ownName, secret: secret)
        let attempt = JoinAttempt(number: takeNumber(), candidates: candidates) { [client] candidate in
            InvitationLink(
                dialling: candidate.addresses, expecting: candidate.shortID, tls: client, own: own)
        } trust: { [newcomers, book] link throws(KithError) in
            guard let session = link.session, session.state == .agreed else {
                throw KithError(.internal, "a node was to be trusted before both sides have agreed")
            }
            let revocation = book.revokedPeer(session.peerID)?.revocation
            let peer = try newcomers.trust(
                session.peerID, calling: session.peerName, at: link.dialled, by: .invitation)
            return (peer, revocation)
        } onChange: { [weak self] attempt in
            guard let self else { return }
            if attempt.isOver, attempt.doubtful > 0 {
                log(
                    "a code was not that of \(attempt.doubtful) machines that it was tried with, the last at \(attempt.lastDoubtful)"
                )
            }
            if attempt.isOver, let peer = attempt.peer, let revocation = attempt.revocation {
                note(peer, revoked: revocation)
            }
            onChange?()
        }
        joins.append(attempt)
        if joins.count > NodeLimits.invitationsRememberedMax, let oldest = joins.firstIndex(where: \.isOver) {
            joins.remove(at: oldest)
        }
        attempt.start()
        return attempt
    }

    /// Ends everything because the node stops.
    func stop() {
        isStopped = true
        for invitation in invitations { invitation.end(.cancelled) }
        for guest in guests { guest.end(.cancelled) }
        for join in joins { join.end(.cancelled) }
        (invitations, guests, joins) = ([], [], [])
        onChange = nil
    }

    private func note(_ peer: Peer, revoked revocation: PeerRevocation) {
        log(
            "\(peer.name)  \(peer.id.short)  was revoked by \(revocation.byName ?? "this node"); the code has let it in again"
        )
    }

    private func takeNumber() -> Int {
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// Not on the loop: it takes a moment on purpose.
    private nonisolated static func secret(of code: InvitationCode) async throws(KithError) -> InvitationSecret {
        let result = await Task.detached { () -> Result<InvitationSecret, KithError> in
            do throws(KithError) { return .success(try code.secret()) } catch { return .failure(error) }
        }.value
        return try result.get()
    }
}
