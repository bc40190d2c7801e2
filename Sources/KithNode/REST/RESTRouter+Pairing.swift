import KithDocuments
import KithTransport
import KithTrust

extension RESTRouter {
    /// Everything under `/_kith/pairings`.
    func pairings(_ exchange: RESTExchange) async throws {
        let request = exchange.request
        guard request.path.count > 2 else {
            try allow(request, "GET", "HEAD", "POST")
            if request.method == "POST" { return try ask(exchange) }
            return exchange.respond(
                HTTPAnswer(
                    200, JSONValue(object: [("pairings", .array(node.pairing.all.map(\.json)))])))
        }
        guard request.path.count == 3, let number = Int(request.path[2]), let pairing = node.pairing.pairing(number)
        else { throw KithError(.notFound, "there is no such pairing", remedy: "See them with kith pair") }
        try allow(request, "GET", "HEAD", "POST", "DELETE")
        switch request.method {
        case "POST":
            let body = try JSONValue(parsing: request.body)
            if body["accept"]?.boolValue == true {
                guard pairing.awaitsAcceptance else { throw Self.notNow(pairing) }
                pairing.accept()
            } else if let same = body["same"]?.boolValue {
                guard pairing.stateName == "comparing" else { throw Self.notNow(pairing) }
                pairing.answer(same: same)
            } else {
                throw KithError(.badRequest, "the body must be {\"accept\": true} or {\"same\": true or false}")
            }
            exchange.respond(HTTPAnswer(200, pairing.json))
        case "DELETE":
            pairing.end(pairing.awaitsAcceptance ? .declined : .cancelled)
            exchange.respond(HTTPAnswer(200, pairing.json))
        default:
            guard request.query["feed"] == "continuous" else { return exchange.respond(HTTPAnswer(200, pairing.json)) }
            await follow(exchange) {
                (pairing.version, pairing.json, pairing.isOver)
            } onGone: {
                pairing.end(.cancelled)
            }
        }
    }

    private static func notNow(_ pairing: NodePairing) -> KithError {
        KithError(.conflict, "the pairing is not asking for that: it is \(pairing.stateName)")
    }

    /// Asks the machine that the body names: by the name or short ID of a node nearby, or by address.
    private func ask(_ exchange: RESTExchange) throws {
        let body = try JSONValue(parsing: exchange.request.body)
        guard let with = body["with"]?.stringValue, !with.isEmpty else {
            throw KithError(.badRequest, "the body must be {\"with\": NAME, ID or ADDRESS}")
        }
        let pairing = try node.askToPair(with)
        exchange.respond(HTTPAnswer(201, pairing.json))
    }
}
