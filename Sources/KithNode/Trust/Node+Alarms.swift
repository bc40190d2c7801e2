import Glibc
import KithDocuments
import KithTrust

// What a person should know of keys.

extension Node {
    /// A person says that nobody else has this node's key any more: what was seen of that is over.
    public func settleKey() {
        keyAlarms.settleOwnKey()
        log("what was seen of this node's key elsewhere is over, somebody says here")
        statusChanged()
    }

    private var alarmsPath: String { home.path + "/alarms.json" }

    /// Reads what was seen before this node was started.
    func recallAlarms() {
        guard Glibc.access(alarmsPath, F_OK) == 0 else { return }
        do {
            keyAlarms = KeyAlarms(
                lasting: try LastingAlarms(
                    parsing: try HomeFile.read(alarmsPath, bytesMax: LastingAlarms.bytesMax),
                    ownID: home.identity.nodeID, isPeer: { home.peerBook.peer($0) != nil }))
        } catch {
            log("\(alarmsPath) cannot be used, so alarms from before are not shown: \(error.message)")
        }
    }

    /// Keeps what was seen, so that it is shown after a restart as well.
    func keepAlarms() {
        do throws(KithError) {
            try HomeFile.write(keyAlarms.lasting.encoded(ownID: home.identity.nodeID), to: alarmsPath)
        } catch {
            log("an alarm is not kept over a restart: \(error.message)", key: "alarms")
        }
    }

    /// A peer as it can be typed: its name is what somebody else has chosen, and a shell may read it in another way.
    private static func typed(_ peer: Peer) -> String {
        let isPlain = peer.name.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return isPlain && peer.name.utf8.first != UInt8(ascii: "-") ? peer.name : peer.id.short
    }

    /// What a person should know of keys.
    var trustProblems: [NodeStatus.Problem] {
        keyAlarms.expire(atSeconds: WallClock.seconds)
        var problems: [NodeStatus.Problem] = []
        func add(_ code: String, _ subject: String, _ text: String, _ command: String?) {
            problems.append(
                NodeStatus.Problem(code: code, severity: .attention, subject: subject, text: text, command: command))
        }
        func day(_ seconds: Int64) -> String { String(WallClock.text(seconds).prefix(10)) }
        for peer in home.peerBook.revokedPeers {
            guard let revocation = peer.revocation, let by = revocation.byName else { continue }
            let reason = revocation.reason.isEmpty ? "" : " (\(revocation.reason))"
            let since = home.peerBook.revokedPeer(revocation.by) == nil ? "" : ", which is revoked itself now"
            add(
                "revoked", peer.name,
                "revoked by \(by) on \(day(revocation.seconds))\(reason)\(since); nothing is exchanged with it",
                "kith peers restore \(home.peerBook.peer(named: peer.name) == nil ? Self.typed(peer) : peer.id.short)")
        }
        for revocation in home.peerBook.revocationsOfOwn {
            let reason = revocation.reason.isEmpty ? "" : " (\(revocation.reason))"
            add(
                "revoked-here", revocation.byName ?? "",
                "has revoked this node on \(day(revocation.seconds))\(reason); other nodes follow it",
                "kith pair \(revocation.by.short)")
        }
        for peer in home.peerBook.peers {
            if let shown = shownKey(of: peer) {
                add(
                    "key-changed", peer.name,
                    "shows another key, \(shown.short) at \(shown.address), and not \(peer.id.short); nothing is exchanged with it",
                    "kith peers verify \(Self.typed(peer))")
            }
            if let other = keyAlarms.twoSuccessors[peer.id] {
                add(
                    "key-disputed", peer.name,
                    "a former key of it has signed a second successor, \(other.short), which is not followed",
                    "kith peers verify \(Self.typed(peer))")
            }
        }
        if let seen = keyAlarms.ownKey {
            add(
                "key-shared", "this node",
                "\(seen.address) has this node's own key: its home was copied, and the two refuse each other; when the copy is gone, kith key settle ends this",
                "kith key rotate   (on one of them, while it is stopped)")
        }
        if let other = keyAlarms.ownSuccessor {
            add(
                "key-replaced", "this node",
                "this node's key was replaced by \(other.short), elsewhere; peers refuse the one that is here",
                nil)
        }
        return problems
    }
}
