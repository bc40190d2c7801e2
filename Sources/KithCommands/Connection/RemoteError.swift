import KithDocuments

/// Reads the errors that the node answers: `{"error": CouchDB's name, "code": Kith's, "reason": message, "remedy": …}`.
enum RemoteError {
    /// Kith's name of an error that is somewhere in an answer; nil where there is none.
    static func name(_ value: JSONValue) -> String? {
        // Where both names are the same there is no code.
        value["error"]?.stringValue.map { value["code"]?.stringValue ?? $0 }
    }

    /// The error of an answer with a status outside 200 to 299.
    static func error(status: Int, body: [UInt8]) -> KithError {
        guard let value = try? JSONValue(parsing: body), let name = name(value) else {
            return KithError(
                .protocolViolation, "the node answered with HTTP status \(status) and no reason",
                remedy: "Look at the node's log")
        }
        let code = ErrorCode.named(name) ?? ErrorCode.unknown(named: name, httpStatus: status)
        let reason = value["reason"]?.stringValue ?? name
        return KithError(code, DisplayText.safe(reason), remedy: value["remedy"]?.stringValue.map(DisplayText.safe))
    }
}
