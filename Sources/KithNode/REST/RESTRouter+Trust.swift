import KithDocuments
import KithTransport
import KithTrust

extension RESTRouter {
    /// `/_kith/peers/PEER/WHAT`: `name`, `revocation`, `verification`, `key`.
    func trust(_ exchange: RESTExchange, _ text: String, _ what: String) async throws {
        let request = exchange.request
        let book = node.home.peerBook
        switch what {
        case "name":
            try allow(request, "PUT")
            let id = try book.find(text).id
            let name = try Self.text(try body(request, ["name"])["name"], "name")
            exchange.respond(HTTPAnswer(200, json(try node.rename(id, to: name))))
        case "revocation":
            try allow(request, "PUT", "DELETE")
            if request.method == "DELETE" {
                // A peer that is trusted may have the name of the revoked one by now.
                let named = book.revokedPeers.filter { $0.name == text }
                let found = named.count == 1 ? named[0] : try book.find(text, isRevoked: true)
                let members = try body(request, ["name"])
                let name = try members["name"].map { try Self.text($0, "name") }
                return exchange.respond(HTTPAnswer(200, json(try node.restore(found.id, name: name))))
            }
            let members = try body(request, ["reason"])
            let found = try book.find(text, isRevoked: true)
            let reason = try members["reason"].map { try Self.text($0, "reason") } ?? ""
            let peer = try node.revoke(found.id, reason: reason)
            await exchange.respond(HTTPAnswer(200, tellingJSON(peer)))
        case "verification":
            try allow(request, "GET", "HEAD", "PUT")
            let peer = try book.find(text)
            let now = request.method == "PUT" ? try node.noteVerified(peer.id) : peer
            exchange.respond(HTTPAnswer(200, verificationJSON(now)))
        case "key":
            try allow(request, "PUT")
            let peer = try book.find(text)
            let id = try NodeID(parsing: try Self.text(try body(request, ["id"])["id"], "id"))
            exchange.respond(HTTPAnswer(200, json(try node.replaceKey(of: peer.id, by: id))))
        default: throw KithError(.notFound, "there is no such endpoint")
        }
    }

    /// `/_kith/certificate`: until when it is valid; `POST` renews it, or puts the one in place that the body has.
    func certificate(_ exchange: RESTExchange) throws {
        try allow(exchange.request, "GET", "HEAD", "POST")
        let body = exchange.request.body
        if exchange.request.method == "POST", body.isEmpty {
            try node.renewCertificate()
        } else if exchange.request.method == "POST" {
            guard let text = try JSONValue(parsing: body)["certificate"]?.stringValue else {
                throw KithError(.badRequest, "the body must be {\"certificate\": PEM}")
            }
            try node.installCertificate(Array(text.utf8))
        }
        exchange.respond(HTTPAnswer(200, node.home.certificateJSON))
    }

    /// Says whom a revocation has reached. Peers that are connected get a moment for it.
    private func tellingJSON(_ peer: Peer) async -> JSONValue {
        let book = node.home.peerBook
        var waited = 0.0
        func untold() -> [Peer] { book.peers.filter { !node.trustManager.isTold($0.id) } }
        while waited < NodeLimits.revokeSecondsMax, untold().contains(where: { node.links.isConnected($0.id) }) {
            await pause(0.05)
            waited += 0.05
        }
        let waiting = untold()
        var value = json(peer)
        value["told"] = .array(
            book.peers.filter { one in !waiting.contains { $0.id == one.id } }.map { .string($0.name) })
        value["waiting"] = .array(waiting.map { .string($0.name) })
        return value
    }

    private func verificationJSON(_ peer: Peer) -> JSONValue {
        let own = node.home.identity.nodeID
        let shown = node.shownKey(of: peer)
        return JSONValue(object: [
            ("name", .string(peer.name)), ("id", .string(peer.id.description)), ("ownID", .string(own.description)),
            ("ownName", .string(node.name)),
            ("words", .array(FingerprintWords.words(own, peer.id).map { .string($0) })),
            ("verifiedAt", JSONValue(optional: peer.verifiedAt)), ("trustedAt", .string(peer.trustedAt)),
            (
                "shown",
                shown.map {
                    JSONValue(object: [
                        ("id", .string($0.id)), ("short", .string($0.short)), ("address", .string($0.address)),
                        ("at", .string(WallClock.text($0.seconds))),
                    ])
                } ?? .null
            ),
        ])
    }

    /// A peer as the node tells it: what the book says, and where and when it was seen.
    func json(_ peer: Peer) -> JSONValue {
        let databases = peer.databases.sorted { $0.key < $1.key }.map { name, sharing in
            (
                name.text,
                JSONValue(object: [
                    ("access", JSONValue(optional: sharing.access?.rawValue)),
                    ("replication", JSONValue(optional: sharing.replication?.rawValue)),
                ])
            )
        }
        return JSONValue(object: [
            ("id", .string(peer.id.description)), ("short", .string(peer.id.short)), ("name", .string(peer.name)),
            ("state", peer.revocation == nil ? "trusted" : "revoked"),
            ("trustedAt", .string(peer.trustedAt)), ("pairedBy", JSONValue(optional: peer.pairedBy?.rawValue)),
            ("verifiedAt", JSONValue(optional: peer.verifiedAt)),
            ("formerIDs", .array(peer.formerIDs.map { .string($0.description) })),
            ("revocation", peer.revocation.map(\.json) ?? .null),
            ("connected", .bool(node.links.isConnected(peer.id))),
            ("lastSeenAt", JSONValue(time: node.links.lastSeen(peer.id))),
            (
                "addresses",
                .array(
                    peer.revocation == nil
                        ? node.links.addresses.candidates(for: peer.id).map { .string($0.description) } : [])
            ),
            ("access", JSONValue(optional: peer.sharing.access?.rawValue)),
            ("replication", JSONValue(optional: peer.sharing.replication?.rawValue)),
            ("databases", JSONValue(object: databases)),
        ])
    }

    /// The members of a request's body, which may be empty.
    private func body(_ request: RESTRequest, _ known: [String]) throws -> JSONObject {
        guard !request.body.isEmpty else { return [:] }
        guard let members = try JSONValue(parsing: request.body).objectValue else {
            throw KithError(.badRequest, "the body must be a JSON object")
        }
        for name in members.names where !known.contains(name) {
            throw KithError(.badRequest, "there is no \"\(name.prefix(100))\" here; there is \(known.joined())")
        }
        return members
    }

    private static func text(_ value: JSONValue?, _ name: String) throws(KithError) -> String {
        guard let text = value?.stringValue else { throw KithError(.badRequest, "\(name) must be a text") }
        return text
    }
}

extension PeerRevocation {
    /// As the node tells it.
    var json: JSONValue {
        JSONValue(object: [
            ("by", JSONValue(optional: byName)), ("byID", .string(by.description)),
            ("at", .string(WallClock.text(seconds))), ("reason", .string(reason)), ("here", .bool(isOwn)),
        ])
    }
}
