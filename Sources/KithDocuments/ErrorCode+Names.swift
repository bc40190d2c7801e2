extension ErrorCode {
    /// Every code that this version knows.
    public static let all: [ErrorCode] = [
        .noNode, .nodeUnreachable, .alreadyRunning, .portBusy, .homeNotWritable, .newerFormat, .notInitialised,
        .alreadyInitialised, .badConfiguration, .notFound, .databaseNotFound, .conflict, .cannotMerge, .databaseExists,
        .badDocument,
        .attachmentMissing, .badName, .tooLarge, .badRequest, .deltaNotSupported, .methodNotAllowed, .notImplemented,
        .badNodeID,
        .notTrusted, .wrongKey, .forbidden, .nameTaken, .damaged, .diskFull,
        .inputOutput, .busy, .closed, .connectionLost, .timedOut, .protocolViolation, .tlsFailed, .internal,
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The code that has this name in JSON, if this version knows it.
    public static func named(_ name: String) -> ErrorCode? { byName[name] }

    /// A code that another version has answered with: its name is kept, its exit code is 69 (EX_UNAVAILABLE).
    public static func unknown(named name: String, httpStatus: Int) -> ErrorCode {
        ErrorCode(name, http: httpStatus, exit: 69, retryable: httpStatus == 503)
    }
}
