import KithDocuments
import KithTransport

extension RESTRouter {
    /// `/_kith/addresses`: where peers are looked for. `PUT` and `DELETE` of `/_kith/addresses/ADDRESS` give one and take it back.
    func addresses(_ exchange: RESTExchange) throws {
        let request = exchange.request
        guard request.path.count == 3 else {
            try allow(request, "GET", "HEAD")
            let given = node.givenAddresses.map { address, peer in
                JSONValue(object: [
                    ("address", .string(address.description)),
                    ("peer", peer.map { JSONValue.string($0.name) } ?? .null),
                ])
            }
            return exchange.respond(HTTPAnswer(200, JSONValue(object: [("addresses", .array(given))])))
        }
        try allow(request, "PUT", "DELETE")
        if request.method == "PUT" {
            let address = try node.addAddress(request.path[2])
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("address", .string(address.description))])))
        } else {
            try node.removeAddress(request.path[2])
            exchange.respond(HTTPAnswer(200, JSONValue(object: [("ok", .bool(true))])))
        }
    }
}
