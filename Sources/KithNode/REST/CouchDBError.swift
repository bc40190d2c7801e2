import KithDocuments

/// An error in the words of CouchDB: its status and its name, and what `KithError` says of it.
///
/// Its answer is `{"error": name, "reason": …}`, with `code`, Kith's own name where that is another one, and `remedy`.
struct CouchDBError: Error, Sendable {
    let status: Int
    let name: String
    let error: KithError
    var headers: [(name: String, value: String)] = []

    /// An error of which CouchDB says something more exact than its code does.
    init(
        _ name: String, status: Int? = nil, _ error: KithError, headers: [(name: String, value: String)] = []
    ) {
        self.status = status ?? error.code.httpStatus
        self.name = name
        self.error = error
        self.headers = headers
    }

    /// Any error; one that is no `KithError` is a fault of this program.
    init(_ error: any Error) {
        if let error = error as? CouchDBError {
            self = error
            return
        }
        let error = (error as? KithError) ?? KithError(.internal, "the request failed", cause: error)
        self.init(Self.name(error.code), error)
    }

    /// A document or revision that is not here: `missing`, or `deleted`.
    static func missing(_ reason: String = "missing") -> CouchDBError {
        CouchDBError("not_found", KithError(.notFound, reason))
    }

    /// What CouchDB has and this node has not.
    static func notServed(_ what: String, _ remedy: String? = nil) -> CouchDBError {
        CouchDBError("not_implemented", KithError(.notImplemented, what, remedy: remedy))
    }

    var members: [(String, JSONValue)] {
        var members: [(String, JSONValue)] = [("error", .string(name)), ("reason", .string(error.message))]
        if error.code.name != name { members.append(("code", .string(error.code.name))) }
        if let remedy = error.remedy { members.append(("remedy", .string(remedy))) }
        return members
    }

    private static func name(_ code: ErrorCode) -> String {
        switch code {
        case .databaseNotFound: "not_found"
        case .badDocument, .badName: "bad_request"
        default: code.name
        }
    }
}

/// Runs `body`, and says of a name that is not legal what CouchDB says.
func naming<T>(_ name: String, _ body: () throws(KithError) -> T) throws(CouchDBError) -> T {
    do {
        return try body()
    } catch {
        throw error.code == .badName ? CouchDBError(name, error) : CouchDBError(error)
    }
}
