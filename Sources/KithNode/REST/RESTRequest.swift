import KithDocuments

/// A request as the router sees it.
struct RESTRequest: Sendable {
    var method: String
    /// The parts of the path, percent-decoded; `%2F` in a part is data.
    var path: [String]
    var query: [String: String]
    var body: [UInt8]
    var contentType: String?

    /// A query item that must be a whole number.
    ///
    /// - Throws: `.badRequest`, naming it.
    func integer(_ name: String, in range: ClosedRange<Int> = 0...Int.max) throws(KithError) -> Int? {
        guard let text = query[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw KithError(
                .badRequest, "\(name) must be a whole number from \(range.lowerBound), not \"\(text.prefix(100))\"")
        }
        return number
    }

    /// A query item that is true or false.
    ///
    /// - Throws: `.badRequest`, naming it.
    func flag(_ name: String) throws(KithError) -> Bool {
        switch query[name] {
        case nil, "false"?: return false
        case "true"?: return true
        case let text?: throw KithError(.badRequest, "\(name) must be true or false, not \"\(text.prefix(100))\"")
        }
    }

    /// A query item that is a JSON string, as CouchDB's keys are; plain text is taken as it is.
    func key(_ name: String) throws(KithError) -> String? {
        guard let text = query[name] else { return nil }
        guard text.hasPrefix("\"") else { return text }
        guard let value = try? JSONValue(parsing: Array(text.utf8)), let key = value.stringValue else {
            throw KithError(.badRequest, "\(name) must be a JSON string")
        }
        return key
    }
}
