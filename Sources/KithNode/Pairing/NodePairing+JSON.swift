import KithDocuments
import KithTrust

extension NodePairing {
    /// The pairing as REST tells it.
    var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("pairing", JSONValue(Int64(number))), ("version", JSONValue(Int64(version))),
            ("role", role == .initiator ? "initiator" : "responder"), ("state", .string(stateName)),
            ("address", .string(address)), ("asked_at", .string(WallClock.text(beganSeconds))),
        ]
        if let endedSeconds { members.append(("ended_at", .string(WallClock.text(endedSeconds)))) }
        if let session {
            members.append(("name", session.peerName.map { .string($0) } ?? .null))
            members.append(("id", .string(session.peerID.description)))
            members.append(("short", .string(session.peerID.short)))
            let known = manager.known(session)
            members.append(("known_as", known.name.map { .string($0) } ?? .null))
            members.append(("name_taken", .bool(known.isNameTaken)))
            if let revocation = manager.revocation(session) { members.append(("revocation", revocation.json)) }
            switch session.state {
            case .comparing(let number), .waitingForPeer(let number):
                members.append(("digits", .string(number.digits)))
                members.append(("words", .string(number.words)))
            case .paired(let isConfirmed):
                members.append(("confirmed", .bool(isConfirmed)))
            case .failed(let reason, let byPeer):
                members.append(("reason", .string(reason.rawValue)))
                members.append(("by_peer", .bool(byPeer)))
            case .lost:
                members.append(("reason", "lost"))
            case .opening, .waiting, .exchanging, .agreed, .stored: break
            }
        }
        members.append(("shown", .bool(hasShownNumber)))
        if let peer { members.append(("peer", .string(peer.name))) }
        if let error {
            members.append(("error", .string(error.code.name)))
            members.append(("message", .string(error.message)))
            if let remedy = error.remedy { members.append(("remedy", .string(remedy))) }
        }
        return JSONValue(object: members)
    }
}
