import Kith
import KithDocuments
import KithTransport
import KithTrust
import Testing

@testable import KithNode

@Suite("Invitations over real TLS", .timeLimit(.minutes(60)))
@LoopActor
struct InvitationTests {
    typealias Running = NodeTests.Running

    /// A machine that a test moves step by step.
    private func guest(_ node: Running, _ code: InvitationCode, of host: Running) throws -> InvitationLink {
        let identity = try TLSIdentity(
            certificatePEM: node.home.identity.certificatePEM, privateKeyPEM: node.home.identity.privateKeyPEM)
        let tls = try TLSContext.client(
            identity: identity, verify: { _ in .trusted }, applicationProtocol: InvitationSession.applicationProtocol)
        let link = InvitationLink(
            dialling: [try SocketAddress(parsing: "127.0.0.1:\(host.node.port)")], expecting: nil, tls: tls,
            own: InvitationLink.Own(id: node.id, name: node.home.configuration.name, secret: try code.secret()))
        link.start()
        return link
    }

    /// Waits until something is so at these links; a link tells each change.
    private func until(_ links: [InvitationLink], _ condition: @LoopActor () -> Bool) async {
        let signal = ChangeSignal()
        for link in links { link.onChange = { _ in signal.signal() } }
        while !condition() { await signal.wait(secondsMax: 60) }
        for link in links { link.onChange = nil }
    }

    /// A machine that has the host's share and has proved nothing yet.
    private func challenged(_ node: Running, _ code: InvitationCode, of host: Running) async throws -> InvitationLink {
        let link = try guest(node, code, of: host)
        await until([link]) { link.session?.state == .challenged || link.isOver }
        return link
    }

    private func wrong(_ code: InvitationCode) throws -> InvitationCode {
        try InvitationCode(parsing: (code.text.first == "8" ? "7" : "8") + code.text.dropFirst())
    }

    private func isFailed(_ link: InvitationLink, _ reason: InvitationEnd) -> Bool {
        if case .failed(reason, byPeer: true, triesLeft: _) = link.session?.state { true } else { false }
    }

    @Test("wrong codes that come at the same time are counted like those that come one after the other")
    func parallelGuesses() async throws {
        let (host, guests) = (try await Running("kitchen-pi"), try await Running("tablet"))
        let (invitation, code) = try await host.node.invitations.invite(terms: nil, seconds: 60)
        // Two of one machine have room; each has the host's share before either proves anything.
        let links = [try guest(guests, wrong(code), of: host), try guest(guests, wrong(code), of: host)]
        await until(links) { links.allSatisfy { $0.session?.state == .challenged } }
        for link in links { link.prove() }
        await until(links) { links.allSatisfy(\.isOver) }
        #expect(links.allSatisfy { isFailed($0, .wrong) })
        #expect(invitation.triesLeft == NodeLimits.invitationTriesMax - 2)
        // The last try, while somebody with the right code is on the way: it is over for both.
        let last = [try guest(guests, wrong(code), of: host), try guest(guests, code, of: host)]
        await until(last) { last.allSatisfy { $0.session?.state == .challenged } }
        last[0].prove()
        await until(last) { last.allSatisfy(\.isOver) }
        #expect(isFailed(last[0], .wrong) && isFailed(last[1], .none))
        #expect(invitation.state == .spent && host.home.peerBook.count == 0)
    }

    @Test("what ends an invitation while its code is being used waits for what comes of that")
    func endedMeanwhile() async throws {
        let (host, tablet) = (try await Running("kitchen-pi"), try await Running("tablet"))
        for isKept in [false, true] {
            let (invitation, code) = try await host.node.invitations.invite(terms: nil, seconds: 60)
            let link = try await challenged(tablet, code, of: host)
            link.prove()
            await until([link]) { link.session?.state == .agreed || link.isOver }
            #expect(link.session?.state == .agreed)
            invitation.end(.expired)
            #expect(invitation.state == .open && !invitation.isGood)
            if isKept { link.stored() } else { link.end(.cancelled) }
            await host.until { _ in invitation.state != .open }
            #expect(invitation.state == (isKept ? .used : .expired))
            #expect(host.home.peerBook.count == (isKept ? 1 : 0))
        }
    }

    @Test("who has proved to know the code first has it: another one comes too late, the same one may come again")
    func owner() async throws {
        let host = try await Running("kitchen-pi")
        let (first, second) = (try await Running("tablet"), try await Running("laptop"))
        let (invitation, code) = try await host.node.invitations.invite(terms: nil, seconds: 60)
        let early = try await challenged(first, code, of: host)
        early.prove()
        await until([early]) { early.session?.state == .agreed || early.isOver }
        early.end(.cancelled)
        let late = try await challenged(second, code, of: host)
        late.prove()
        await until([late]) { late.isOver }
        #expect(isFailed(late, .none))
        let again = try await challenged(first, code, of: host)
        again.prove()
        await until([again]) { again.session?.state == .agreed || again.isOver }
        again.stored()
        await until([again]) { again.isOver }
        #expect(again.session?.state == .paired(isConfirmed: true))
        #expect(invitation.state == .used && host.home.peerBook.peer(first.id) != nil)
        #expect(host.home.peerBook.count == 1)
    }

    @Test("machines that hold a place without proving anything give way")
    func places() async throws {
        let (host, guests) = (try await Running("kitchen-pi"), try await Running("tablet"))
        let (_, code) = try await host.node.invitations.invite(terms: nil, seconds: 60)
        var links: [InvitationLink] = []
        for _ in 0...NodeLimits.pairingsPerAddressMax { links.append(try await challenged(guests, code, of: host)) }
        await until(links) { links[0].isOver }
        #expect(isFailed(links[0], .busy))
        #expect(links.dropFirst().allSatisfy { $0.session?.state == .challenged })
        for link in links { link.end(.cancelled) }
    }

    /// Uses a code at these hosts, to its end.
    private func use(_ code: InvitationCode, at node: Running, of hosts: [Running]) async throws -> JoinAttempt {
        let candidates = try hosts.map {
            JoinAttempt.Candidate(
                addresses: [try SocketAddress(parsing: "127.0.0.1:\($0.node.port)")], shortID: $0.id.short)
        }
        let attempt = try await node.node.invitations.use(code, with: candidates)
        await node.until { _ in attempt.isOver }
        return attempt
    }

    @Test("a code is proved to three machines at most, however many say that it may be theirs")
    func proofs() async throws {
        let guest = try await Running("tablet")
        var hosts: [(node: Running, invitation: Invitation)] = []
        var last: InvitationCode?
        for index in 0...NodeLimits.joinProofsMax {
            let host = try await Running("host-\(index)")
            let (invitation, code) = try await host.node.invitations.invite(terms: nil, seconds: 600)
            hosts.append((host, invitation))
            last = code
        }
        let attempt = try await use(try wrong(try #require(last)), at: guest, of: hosts.map(\.node))
        #expect(attempt.doubtful == NodeLimits.joinProofsMax && attempt.peer == nil)
        #expect(attempt.error?.code == .notTrusted)
        #expect(hosts.map(\.invitation.triesLeft).reduce(0, +) == NodeLimits.invitationTriesMax * hosts.count - 3)
        #expect(hosts.allSatisfy { $0.invitation.triesLeft >= NodeLimits.invitationTriesMax - 1 })
    }

    @Test("who is trusted already keeps what he may do, unless the invitation says something else")
    func knownPeer() async throws {
        let (host, tablet) = (try await Running("kitchen-pi"), try await Running("tablet"))
        try host.node.trust(tablet.id, name: "my tablet")
        try host.node.setSharing(with: tablet.id) { $0.access = .read }
        let (_, code) = try await host.node.invitations.invite(terms: nil, seconds: 600)
        let asBefore = try await use(code, at: tablet, of: [host])
        #expect(asBefore.terms == ["as_before": true] && asBefore.peer != nil)
        await host.until { _ in host.home.peerBook.peer(tablet.id)?.sharing.access == .read }
        #expect(host.home.peerBook.peer(tablet.id)?.name == "my tablet")
        let clinic = try DatabaseName("clinic")
        let terms = try InvitationTerms(databases: [clinic], access: .write)
        let (invitation, other) = try await host.node.invitations.invite(terms: terms, seconds: 600)
        #expect(try await use(other, at: tablet, of: [host]).terms == terms.json)
        await host.until { _ in invitation.state == .used }
        let peer = try #require(host.home.peerBook.peer(tablet.id))
        #expect(peer.access(to: clinic) == .write)
        #expect(try peer.access(to: DatabaseName("other")) == .noAccess)
    }
}
