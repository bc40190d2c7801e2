import KithDocuments
import KithTransport
import KithTrust

extension RESTRouter {
    /// Everything under `/_kith/invitations`.
    func invitations(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        guard request.path.count > 2 else {
            try allow(request, "POST")
            return try await invite(exchange)
        }
        guard request.path.count == 3, let number = Int(request.path[2]),
            let invitation = node.invitations.invitation(number)
        else { throw KithError(.notFound, "there is no such invitation", remedy: "Make one with kith pair invite") }
        try allow(request, "GET", "HEAD", "DELETE")
        if request.method == "DELETE" { invitation.end(.cancelled) }
        guard request.method == "GET", request.query["feed"] == "continuous" else {
            return exchange.respond(HTTPAnswer(200, invitation.json))
        }
        await follow(exchange) {
            (invitation.version, invitation.json, invitation.state != .open)
        } onGone: {
            invitation.end(.cancelled)
        }
    }

    /// Opens an invitation; the answer has its code.
    private func invite(_ exchange: RESTExchange) async throws {
        let body = exchange.request.body.isEmpty ? [:] : try JSONValue(parsing: exchange.request.body)
        guard let members = body.objectValue else { throw KithError(.badRequest, "the body must be a JSON object") }
        for member in members where !["expires", "databases", "access"].contains(member.name) {
            throw KithError(.badRequest, "an invitation has no \"\(member.name)\"")
        }
        var seconds = NodeLimits.invitationSecondsDefault
        if let expires = body["expires"] {
            guard let number = expires.int64Value else { throw KithError(.badRequest, "expires must be whole seconds") }
            seconds = Double(number)
        }
        let (invitation, code) = try await node.invitations.invite(terms: try Self.terms(body), seconds: seconds)
        var answer = invitation.json
        answer["code"] = .string(code.text)
        answer["uri"] = .string(node.invitationURI(code).text)
        guard exchange.request.query["feed"] == "continuous" else {
            return exchange.respond(HTTPAnswer(201, answer))
        }
        // In one request, so that whoever goes away after it has been made has followed it.
        await follow(exchange, first: answer) {
            (invitation.version, invitation.json, invitation.state != .open)
        } onGone: {
            invitation.end(.cancelled)
        }
    }

    private static func terms(_ body: JSONValue) throws -> InvitationTerms? {
        guard body["databases"] != nil || body["access"] != nil else { return nil }
        var databases: [DatabaseName] = []
        if let list = body["databases"] {
            guard let items = list.arrayValue else { throw KithError(.badRequest, "databases must be a list of names") }
            databases = try items.map {
                guard let text = $0.stringValue else {
                    throw KithError(.badRequest, "databases must be a list of names")
                }
                return try DatabaseName(text)
            }
            // A program that has filtered its list to nothing does not mean all.
            guard !databases.isEmpty else {
                throw KithError(.badRequest, "databases is empty", remedy: "Leave it out to share all of them")
            }
        }
        var access = PeerAccess.both
        if let value = body["access"] {
            guard let given = value.stringValue.flatMap(PeerAccess.init), given != .noAccess else {
                throw KithError(.badRequest, "access must be both, read or write")
            }
            access = given
        }
        return try InvitationTerms(databases: databases, access: access)
    }

    /// Everything under `/_kith/joins`.
    func joins(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        guard request.path.count > 2 else {
            try allow(request, "POST")
            let body = try JSONValue(parsing: request.body)
            guard let text = body["code"]?.stringValue else {
                throw KithError(.badRequest, "the body must be {\"code\": CODE, \"with\": NAME, ID or ADDRESS}")
            }
            let uri = try InvitationURI(parsing: text)
            // What a person says goes before what the picture says.
            let candidates: [JoinAttempt.Candidate]
            if let with = body["with"]?.stringValue {
                candidates = try node.invitationCandidates(with)
            } else {
                candidates = try node.invitationCandidates(uri)
            }
            let attempt = try await node.invitations.use(uri.code, with: candidates)
            guard request.query["feed"] == "continuous" else {
                return exchange.respond(HTTPAnswer(201, attempt.json))
            }
            return await follow(exchange) {
                (attempt.version, attempt.json, attempt.isOver)
            } onGone: {
                attempt.end(.cancelled)
            }
        }
        guard request.path.count == 3, let number = Int(request.path[2]), let attempt = node.invitations.join(number)
        else { throw KithError(.notFound, "there is no such use of a code") }
        try allow(request, "GET", "HEAD", "DELETE")
        if request.method == "DELETE" { attempt.end(.cancelled) }
        guard request.method == "GET", request.query["feed"] == "continuous" else {
            return exchange.respond(HTTPAnswer(200, attempt.json))
        }
        await follow(exchange) {
            (attempt.version, attempt.json, attempt.isOver)
        } onGone: {
            attempt.end(.cancelled)
        }
    }

    /// Something as a line at each change, until it is over. Who follows it and goes away gives it up.
    ///
    /// - Parameters:
    ///   - first: a line to begin with.
    ///   - look: its version, the line, and whether it is over.
    ///   - onGone: gives it up.
    func follow(
        _ exchange: RESTExchange, first: JSONValue? = nil, look: () -> (version: Int, json: JSONValue, isOver: Bool),
        onGone: @escaping () -> Void
    ) async {
        exchange.startStream()
        exchange.onClosed = { [weak node] in
            onGone()
            node?.statusChanged()
        }
        if let first { await exchange.send(first.canonicalBytes() + [UInt8(ascii: "\n")]) }
        var told = 0
        while !exchange.isClosed {
            let version = node.statusVersion
            let now = look()
            if now.version > told {
                told = now.version
                await exchange.send(now.json.canonicalBytes() + [UInt8(ascii: "\n")])
                continue
            }
            if now.isOver || node.isStopping { break }
            await node.waitForStatus(after: version)
        }
        exchange.onClosed = nil
        // The client may have gone before anybody listened for that.
        if exchange.isClosed { onGone() }
        exchange.endStream()
    }
}
