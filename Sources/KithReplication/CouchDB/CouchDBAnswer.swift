import KithDocuments
import KithWire

/// An answer of the server, as far as it has come.
struct CouchDBAnswer {
    let request: CouchDBRequest
    let status: Int
    let headers: HTTPHeaders
    let body: [UInt8]
    /// Whether it was longer than it may be and was cut off.
    let isTooLong: Bool

    var isSuccess: Bool { (200...299).contains(status) && !isTooLong }

    /// Whether the server, or something before it, has failed on this request, and may fail on it each time.
    var isFailure: Bool { [408, 500, 502, 504].contains(status) }

    /// The body as JSON.
    ///
    /// - Throws: `.protocolViolation` when it is none.
    func json() throws(KithError) -> JSONValue {
        do {
            return try JSONValue(parsing: body, bytesMax: max(body.count, 1))
        } catch {
            throw KithError(.protocolViolation, "the answer to \(request.shown) is not JSON: \(error.message)")
        }
    }

    /// Whether it says that the whole database is not there.
    var isAboutDatabase: Bool {
        guard status == 404, let value = said, value["error"] == "not_found" else { return false }
        return ["no_db_file", "Database does not exist."].contains { value["reason"] == .string($0) }
    }

    /// Whether it says, in CouchDB's words, that a document or a revision is not there; a proxy's 404 does not.
    var isMissing: Bool { status == 404 && !isAboutDatabase && said?["error"] == "not_found" }

    /// A 404 that is not CouchDB's.
    var unexplained: KithError {
        KithError(
            .protocolViolation, "404 to \(request.shown), and not in CouchDB's words",
            remedy: "Look whether something before the server refuses such paths")
    }

    /// What the server says of an error.
    private var said: JSONValue? { body.count <= 65_536 ? try? JSONValue(parsing: body) : nil }

    /// What the server says is wrong.
    var reason: String {
        let value = said
        let parts = [value?["error"]?.stringValue, value?["reason"]?.stringValue].compactMap { $0 }
        return Self.shown(parts.joined(separator: ": "))
    }

    /// How long the server wants to be left alone, in seconds.
    var retryAfterSeconds: Double? {
        headers["Retry-After"].flatMap(Double.init).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }

    /// A text of the server for messages: short, and without what a terminal would obey.
    static func shown(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(300).map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }

    /// How a session ends that cannot go on after this answer.
    func failure(_ peer: String) -> CouchDBEnd {
        let said = reason.isEmpty ? "" : ": \(reason)"
        let text = "\(peer) answered \(isTooLong ? "too much" : String(status)) to \(request.shown)\(said)"
        let error: KithError
        switch status {
        case 300...399:
            error = KithError(
                .protocolViolation, "\(peer) sends requests elsewhere (\(status)), which is not followed",
                remedy: "Use the URL that it sends to, if it can be trusted")
        case 401:
            error = KithError(.forbidden, text, remedy: "Check the user and the password for \(peer)")
        case 403: error = KithError(.forbidden, text, remedy: "Give the user more rights on \(peer)")
        case 404: error = KithError(.databaseNotFound, text, remedy: "Check the name of the database")
        case 408, 425, 429, 500...599: error = KithError(.busy, text)
        default:
            error = KithError(.protocolViolation, text, remedy: "Check that this is the URL of a database of CouchDB")
        }
        return .failed(error, mayHelp: error.code.isRetryable, retryAfterSeconds: retryAfterSeconds)
    }
}
