import KithDocuments

/// Follows something of the node that is given up when its follower goes away: Ctrl-C ends it, and the node is told.
enum FollowedFeed {
    /// - Parameters:
    ///   - request: makes it and tells of it, a JSON object a line.
    ///   - path: where it is, when its first line is known; it is given up there.
    ///   - silenceMilliseconds: a node that says nothing for so long has hung.
    ///   - show: takes each line, first the one that stands now.
    /// - Returns: the signal that ended it, 0 when it ended by itself. After a signal `show` has had the last line.
    static func follow(
        _ request: NodeRequest, _ context: CommandContext, silenceMilliseconds: Int,
        path: () -> [String]?, show: (JSONValue) throws -> Void
    ) throws -> Int32 {
        Interruption.begin()
        var splitter = LineSplitter(lineBytesMax: CommandLimits.answerBytesMax)
        let client = NodeClient(
            socketPath: context.socketPath, timeoutMilliseconds: CommandLimits.answerMilliseconds,
            noNodeHint: context.noNodeHint)
        try client.stream(
            request, silenceMilliseconds: silenceMilliseconds,
            tickMilliseconds: CommandLimits.answerLookMilliseconds
        ) {
            .more
        } onBody: { piece in
            try splitter.receive(piece) { (line) throws in
                if !line.isEmpty { try show(try NodeClient.parse(line)) }
            }
            return .more
        }
        let signal = Interruption.take()
        if signal != 0, let path = path() { try show(try context.node.json(NodeRequest("DELETE", path))) }
        return signal
    }
}
