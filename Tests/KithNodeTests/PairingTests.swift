import Kith
import KithDocuments
import KithTransport
import KithTrust
import Testing

@testable import KithNode

@Suite("Pairing over real TLS", .timeLimit(.minutes(60)))
@LoopActor
struct PairingTests {
    typealias Running = NodeTests.Running

    /// Waits until a pairing of a node is as wanted.
    private func until(_ node: Running, _ condition: @LoopActor ([NodePairing]) -> Bool) async {
        await node.until { _ in condition(node.node.pairing.all) }
    }

    private func number(_ pairing: NodePairing?) -> ComparisonNumber? {
        switch pairing?.session?.state {
        case .comparing(let number), .waitingForPeer(let number): number
        default: nil
        }
    }

    /// The first pairing of a node, once a person is asked about its number.
    private func compared(_ node: Running) async throws -> NodePairing {
        await until(node) { $0.contains { $0.stateName == "comparing" || $0.isOver } }
        let pairing = try #require(node.node.pairing.all.last)
        #expect(pairing.stateName == "comparing", "\(String(describing: pairing.error))")
        return pairing
    }

    private func ask(_ a: Running, _ b: Running) throws -> NodePairing {
        try a.node.pairing.ask([try SocketAddress(parsing: "127.0.0.1:\(b.node.port)")])
    }

    @Test("two people who see the same number pair two nodes, which then replicate")
    func pair() async throws {
        let (a, b) = (try await Running("tablet"), try await Running("kitchen-pi"))
        for node in [a, b] { try await node.node.createDatabase(DatabaseName("clinic")) }
        let asking = try ask(a, b)
        await until(b) { $0.contains(where: \.awaitsAcceptance) }
        let status = await b.node.status()
        #expect(status.nearby.map(\.name) == ["tablet"] && status.nearby.first?.askedAt != nil)
        #expect(a.home.peerBook.count == 0 && b.home.peerBook.count == 0)
        b.node.pairing.all.first?.accept()
        let asked = try await compared(b)
        _ = try await compared(a)
        #expect(number(asking) != nil && number(asking) == number(asked))
        asked.answer(same: true)
        #expect(b.home.peerBook.count == 0)
        asking.answer(same: true)
        await until(a) { _ in asking.isOver }
        await until(b) { _ in asked.isOver }
        #expect(asking.session?.state == .paired(isConfirmed: true))
        #expect(asked.session?.state == .paired(isConfirmed: true))
        #expect(a.home.peerBook.peer(b.id)?.name == "kitchen-pi")
        #expect(b.home.peerBook.peer(a.id)?.name == "tablet")
        // The one that asked knows where the other one is.
        await a.until { $0.peers.first?.databases.first?.state == .inSync }
        await a.node.stop()
        await b.node.stop()
    }

    @Test("a real machine in the middle makes the screens differ, and a No leaves nobody trusted")
    func machineInTheMiddle() async throws {
        let (a, b) = (try await Running("tablet"), try await Running("kitchen-pi"))
        // It is a node like others, which pretends to each to be the other and passes on what they do.
        let middle = try await Running("kitchen-pi")
        let asking = try ask(a, middle)
        await until(middle) { $0.contains(where: \.awaitsAcceptance) }
        let front = try #require(middle.node.pairing.all.first)
        let back = try ask(middle, b)
        await until(b) { $0.contains(where: \.awaitsAcceptance) }
        b.node.pairing.all.first?.accept()
        await until(middle) { _ in back.stateName == "comparing" }
        front.accept()
        _ = try await compared(a)
        let asked = try await compared(b)
        #expect(number(asking) != number(asked))
        // The attacker says Yes to both; the people see that the numbers differ.
        await until(middle) { _ in front.stateName == "comparing" }
        front.answer(same: true)
        back.answer(same: true)
        asking.answer(same: false)
        asked.answer(same: false)
        await until(middle) { _ in front.isOver && back.isOver }
        #expect(front.session?.state == .failed(.different, byPeer: true))
        for node in [a, b, middle] { #expect(node.home.peerBook.count == 0) }
        for node in [a, b, middle] { await node.node.stop() }
    }

    @Test("a stranger that speaks pairing gets nothing else, and those that are silent do not keep others out")
    func nothingElse() async throws {
        let node = try await Running("kitchen-pi")
        let stranger = try await Running("stranger")
        let identity = try TLSIdentity(
            certificatePEM: stranger.home.identity.certificatePEM, privateKeyPEM: stranger.home.identity.privateKeyPEM)
        let address = try SocketAddress(parsing: "127.0.0.1:\(node.node.port)")
        func dial(_ name: String?) throws -> Dialled {
            Dialled(
                Connection.dial(
                    address,
                    tls: try TLSContext.client(
                        identity: identity, verify: { _ in .trusted }, applicationProtocol: name)))
        }
        let upgrade = Array("GET /clinic/_blipsync HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
        // Without the protocol: refused by TLS. With it: bytes of another protocol end it, without an answer to them.
        let plain = try dial(nil)
        plain.connection.write(upgrade)
        await plain.closed()
        #expect(plain.received.isEmpty)
        let pairing = try dial(PairingSession.applicationProtocol)
        pairing.connection.write(upgrade)
        await pairing.closed()
        #expect(!String(decoding: pairing.received, as: UTF8.self).contains("HTTP"))
        // Silent ones are only so many of one machine: the oldest gives way to one that has something to say.
        var silent: [Dialled] = []
        for _ in 0..<NodeLimits.pairingsPerAddressMax {
            silent.append(try dial(PairingSession.applicationProtocol))
        }
        await until(node) { $0.count { !$0.isOver } == NodeLimits.pairingsPerAddressMax }
        let asking = try ask(stranger, node)
        await until(node) { $0.contains(where: \.awaitsAcceptance) }
        var open = node.node.pairing.all.filter { !$0.isOver }
        #expect(open.count == NodeLimits.pairingsPerAddressMax)
        // What a person has accepted gives way to nobody.
        open = open.filter(\.awaitsAcceptance)
        let accepted = try #require(open.first)
        accepted.accept()
        await until(stranger) { _ in asking.stateName == "comparing" }
        await until(node) { _ in accepted.stateName == "comparing" }
        for _ in 0..<5 {
            let more = try dial(PairingSession.applicationProtocol)
            await until(node) { $0.count { !$0.isOver } == NodeLimits.pairingsPerAddressMax }
            silent.append(more)
        }
        #expect(accepted.stateName == "comparing")
        #expect(node.home.peerBook.count == 0)
        for one in silent { one.connection.abort() }
        await node.node.stop()
        await stranger.node.stop()
    }

    @Test("a node that is asked to pair with itself, or with one that is not there, says so")
    func nobody() async throws {
        let node = try await Running("alone")
        let own = try ask(node, node)
        await until(node) { _ in own.isOver }
        #expect(own.error?.message == "that is this node itself")
        let other = try node.node.pairing.ask(
            [try SocketAddress(parsing: "127.0.0.1:\(node.node.port)")], expecting: "AAAA-AAAA")
        await until(node) { _ in other.isOver }
        #expect(other.session == nil && other.error != nil)
        let free = try SocketAddress(parsing: "127.0.0.1:1")
        let nobody = try node.node.pairing.ask([free])
        await until(node) { _ in nobody.isOver }
        #expect(nobody.error?.code == .connectionLost)
        #expect(throws: KithError.self) { try node.node.askToPair("nobody-of-that-name") }
        await node.node.stop()
    }

    @Test("an address where another machine answers than the one that is meant is passed over")
    func passedOver() async throws {
        let (a, b) = (try await Running("tablet"), try await Running("kitchen-pi"))
        let other = try await Running("kitchen-pi")
        let places = try [a, other, b].map { try SocketAddress(parsing: "127.0.0.1:\($0.node.port)") }
        let asking = try a.node.pairing.ask(places, expecting: b.id.short)
        await until(b) { $0.contains(where: \.awaitsAcceptance) }
        #expect(asking.session?.peerID == b.id)
        let requests = other.node.pairing.all.filter(\.awaitsAcceptance)
        #expect(requests.isEmpty)
        for node in [a, b, other] { await node.node.stop() }
    }

    @Test(
        "who is silent, whom nobody accepts and what nobody answers is over after its time, and pieces do not prolong it"
    )
    func expiry() async throws {
        let (a, b) = (try await Running("tablet"), try await Running("kitchen-pi"))
        let address = try SocketAddress(parsing: "127.0.0.1:\(b.node.port)")
        let identity = try TLSIdentity(
            certificatePEM: a.home.identity.certificatePEM, privateKeyPEM: a.home.identity.privateKeyPEM)
        b.node.pairing.times = PairingTimes(openSeconds: 0.2, askSeconds: 3600, compareSeconds: 3600)
        let silent = Dialled(
            Connection.dial(
                address,
                tls: try TLSContext.client(
                    identity: identity, verify: { _ in .trusted },
                    applicationProtocol: PairingSession.applicationProtocol)))
        // A piece of a message, which says nothing.
        silent.connection.write([4, 0, 1])
        await silent.closed()
        #expect(String(decoding: silent.received, as: UTF8.self).contains("expired"))
        b.node.pairing.times = PairingTimes(openSeconds: 3600, askSeconds: 0.2, compareSeconds: 3600)
        let unheeded = try ask(a, b)
        await until(a) { _ in unheeded.isOver }
        #expect(unheeded.session?.state == .failed(.expired, byPeer: true))
        // Nobody has followed it: both sides know why and when it ended.
        for pairing in [unheeded, try #require(b.node.pairing.all.last)] {
            #expect(pairing.json["reason"]?.stringValue == "expired" && pairing.json["ended_at"] != nil)
        }
        b.node.pairing.times = PairingTimes(openSeconds: 3600, askSeconds: 3600, compareSeconds: 0.2)
        let unanswered = try ask(a, b)
        await until(b) { $0.contains(where: \.awaitsAcceptance) }
        b.node.pairing.all.last?.accept()
        await until(a) { _ in unanswered.isOver }
        #expect(unanswered.session?.state == .failed(.expired, byPeer: true) && unanswered.hasShownNumber)
        #expect(a.home.peerBook.count == 0 && b.home.peerBook.count == 0)
        await a.node.stop()
        await b.node.stop()
    }

    @Test("a machine that asks once more has given up what it had asked before")
    func askedAgain() async throws {
        let (a, b) = (try await Running("tablet"), try await Running("kitchen-pi"))
        let first = try ask(a, b)
        await until(b) { $0.contains(where: \.awaitsAcceptance) }
        let second = try ask(a, b)
        await until(a) { _ in first.isOver && second.stateName == "waiting" }
        await until(b) { $0.count(where: \.awaitsAcceptance) == 1 && $0.last?.awaitsAcceptance == true }
        await a.node.stop()
        await b.node.stop()
    }

    @Test("one machine that asks all the time keeps nobody out, and what a person has accepted stays")
    func room() {
        func request(_ group: String, _ isUnheeded: Bool = true) -> PairingRoom.Request {
            PairingRoom.Request(group: group, isUnheeded: isUnheeded)
        }
        let one = [request("a"), request("a")]
        #expect(PairingRoom.verdict([], newcomer: "a") == .room)
        #expect(PairingRoom.verdict(one, newcomer: "b") == .room)
        #expect(PairingRoom.verdict(one, newcomer: "a") == .replace(0))
        #expect(PairingRoom.verdict([request("a", false), request("a")], newcomer: "a") == .replace(1))
        #expect(PairingRoom.verdict([request("a", false), request("a", false)], newcomer: "a") == .full)
        let many = ["x", "a", "a", "b", "b", "c", "c", "d"].map { request($0) }
        #expect(many.count == NodeLimits.pairingsMax)
        #expect(PairingRoom.verdict(many, newcomer: "new") == .replace(1))
        #expect(PairingRoom.verdict(many.map { request($0.group, false) }, newcomer: "new") == .full)

        let groups = ["192.168.1.5:1", "192.168.1.6:1", "[2001:db8::1]:1", "[2001:db8::2]:9", "[2001:db8:0:1::2]:9"]
            .map { PairingRoom.group(ofAddress: $0) }
        #expect(groups[0] != groups[1] && groups[2] == groups[3] && groups[2] != groups[4])
        let local = ["[fe80::1%eth0]:1", "[fe80::2%eth0]:1", "[fe80::1%eth0]:2", "[fe80::1%eth1]:1"]
            .map { PairingRoom.group(ofAddress: $0) }
        #expect(local[0] == local[2] && local[0] != local[1] && local[0] != local[3])
    }

    /// A connection of a stranger, and what came back on it.
    @LoopActor
    private final class Dialled {
        let connection: Connection
        private(set) var received: [UInt8] = []
        private var isClosed = false
        private var waiter: CheckedContinuation<Void, Never>?

        init(_ connection: Connection) {
            self.connection = connection
            connection.onReceive = { [weak self] in self?.received.append(contentsOf: $0) }
            connection.onClose = { _ in
                self.isClosed = true
                self.waiter?.resume()
                self.waiter = nil
            }
        }

        func closed() async {
            if isClosed { return }
            await withCheckedContinuation { waiter = $0 }
        }
    }
}
