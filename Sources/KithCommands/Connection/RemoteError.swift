import KithDocuments

/// Reads the errors that the node answers: `{"error": code, "reason": message, "remedy": …}`.
enum RemoteError {
    /// The error of an answer with a status outside 200 to 299.
    static func error(status: Int, body: [UInt8]) -> KithError {
        guard let value = try? JSONValue(parsing: body), let name = value["error"]?.stringValue else {
            return KithError(
                .protocolViolation, "the node answered with HTTP status \(status) and no reason",
                remedy: "Look at the node's log")
        }
        let code = ErrorCode.named(name) ?? ErrorCode.unknown(named: name, httpStatus: status)
        let reason = value["reason"]?.stringValue ?? name
        return KithError(code, DisplayText.safe(reason), remedy: value["remedy"]?.stringValue.map(DisplayText.safe))
    }
}
