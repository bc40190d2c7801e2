import Glibc
import KithDocuments

/// Long work of the node that a command waits for and shows the progress of.
struct MaintenanceRequest {
    private let request: NodeRequest
    private let words: [String: String]

    /// - Parameters:
    ///   - path: the parts of the path.
    ///   - body: what is asked for.
    ///   - words: for each phase that the node may tell, how it is shown.
    init(_ path: [String], body: [(String, JSONValue)] = [], words: [String: String]) {
        request = NodeRequest(
            "POST", path, query: [("progress", "true")], body: JSONValue.object(JSONObject(body)).canonicalBytes())
        self.words = words
    }

    /// Asks, shows a line that counts up where a person watches, and gives the result.
    ///
    /// - Throws: what the node answered when it failed, also in the middle; as `NodeClient.stream`.
    func run(_ context: CommandContext) throws -> JSONValue {
        var progress = ProgressLine(context.console)
        defer { progress.clear() }
        var last: JSONValue?
        var splitter = LineSplitter(lineBytesMax: CommandLimits.answerBytesMax)
        func take(_ line: [UInt8]) throws {
            // An empty line is a sign of life.
            if line.isEmpty { return }
            let value = try NodeClient.parse(line)
            if let phase = value["phase"]?.stringValue {
                progress.show(show(phase, value["completed"]?.intValue ?? 0, value["total"]?.intValue ?? 0))
            } else {
                last = value
            }
        }
        try context.node.stream(request, silenceMilliseconds: CommandLimits.feedSilenceMilliseconds) { piece in
            try splitter.receive(piece, take)
            return .more
        }
        try splitter.finish(take)
        guard let last else { throw ConnectionFailure.wentAway() }
        if last["error"] != nil { throw RemoteError.error(status: 500, body: last.canonicalBytes()) }
        return last
    }

    private func show(_ phase: String, _ completed: Int, _ total: Int) -> String {
        let word = words[phase] ?? DisplayText.safe(phase)
        return total > 1 ? "\(word) \(completed * 100 / total) %" : word
    }

    /// A file of this machine by its whole path, since the node has another working directory.
    static func absolutePath(_ path: String) throws -> String {
        guard !path.isEmpty else { throw UsageError("the name of a file is missing") }
        if path.utf8.first == UInt8(ascii: "/") { return path }
        guard let folder = getcwd(nil, 0) else {
            throw KithError(.inputOutput, "the working directory cannot be read: \(SystemText.error(errno))")
        }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }
}
