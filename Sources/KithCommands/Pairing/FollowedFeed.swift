import KithDocuments

/// Follows something of the node that is given up when its follower goes away: Ctrl-C ends it, and the node is told.
enum FollowedFeed {
    /// - Parameters:
    ///   - path: where it is told.
    ///   - silenceMilliseconds: a node that says nothing for so long has hung.
    ///   - show: takes each line, first the one that stands now.
    /// - Returns: the signal that ended it, 0 when it ended by itself. After a signal `show` has had the last line.
    static func follow(
        _ path: [String], _ context: CommandContext, silenceMilliseconds: Int, show: (JSONValue) throws -> Void
    ) throws -> Int32 {
        Interruption.begin()
        var splitter = LineSplitter(lineBytesMax: CommandLimits.answerBytesMax)
        let client = NodeClient(
            socketPath: context.socketPath, timeoutMilliseconds: CommandLimits.answerMilliseconds,
            noNodeHint: context.noNodeHint)
        try client.stream(
            NodeRequest("GET", path, query: [("feed", "continuous")]), silenceMilliseconds: silenceMilliseconds,
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
        if signal != 0 { try show(try context.node.json(NodeRequest("DELETE", path))) }
        return signal
    }
}
