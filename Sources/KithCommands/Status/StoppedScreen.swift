import KithDocuments

/// What `status` shows when there is no node to ask, for people and as JSON.
enum StoppedScreen {
    /// The screen.
    static func lines(_ error: KithError, _ style: TerminalStyle) -> [String] {
        var message = error.message
        if let first = message.first { message = first.uppercased() + message.dropFirst() }
        var lines = ["\(StatusMarks.bad(style)) \(message)."]
        if let remedy = error.remedy { lines.append("    \(remedy)") }
        return lines
    }

    /// A status of version 1 that says so.
    static func json(_ error: KithError) -> JSONValue {
        let state = error.code == .noNode ? "stopped" : "unknown"
        return [
            "schemaVersion": 1,
            "node": [
                "name": .null, "id": .null, "version": .null, "state": .string(state), "health": "error",
                "startedAt": .null,
                "listening": [],
            ],
            "databases": [], "peers": [], "nearby": [], "conflicts": [],
            "problems": [
                [
                    "code": .string(error.code.name), "severity": "error", "subject": "node",
                    "text": .string(error.message), "command": error.remedy.map { .string($0) } ?? .null,
                ]
            ],
        ]
    }
}
