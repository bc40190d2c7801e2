import KithDocuments

/// One replication with one peer, followed to its end.
struct SyncRun {
    let peer: String
    let database: String
    let body: JSONValue
    let asJSON: Bool

    /// Asks for it and shows how it goes: a bar where a person watches, a line now and then elsewhere.
    ///
    /// - Returns: how many documents were refused; nil when somebody has interrupted it.
    /// - Throws: what the node answered when it failed, also in the middle; as `NodeClient.stream`.
    func run(_ context: CommandContext) throws -> Int? {
        let console = context.console
        var line = ProgressLine(console)
        defer { line.clear() }
        var last: JSONValue?
        var toldMilliseconds = MonotonicClock.milliseconds
        var splitter = LineSplitter(lineBytesMax: CommandLimits.answerBytesMax)
        func take(_ bytes: [UInt8]) throws {
            // An empty line is a sign of life.
            if bytes.isEmpty { return }
            let value = try NodeClient.parse(bytes)
            guard value["state"] != nil else {
                last = value
                return
            }
            if asJSON { return try show(value, console) }
            if console.errorIsTerminal { return line.show(bar(value, console.style)) }
            let now = MonotonicClock.milliseconds
            guard now - toldMilliseconds >= CommandLimits.syncLineMilliseconds else { return }
            toldMilliseconds = now
            console.note("\(DisplayText.safe(peer))  \(amounts(value))")
        }
        let request = NodeRequest("POST", [database, "_sync"], body: body.canonicalBytes())
        do {
            try context.node.stream(request, silenceMilliseconds: CommandLimits.feedSilenceMilliseconds) { piece in
                try splitter.receive(piece, take)
                return Interruption.signal == 0 ? .more : .enough
            }
        } catch let error as KithError where error.code == .notFound {
            throw KithError(
                .notFound, "there is no peer \(DisplayText.safe(peer))", remedy: "See the peers: kith peers")
        }
        if Interruption.signal != 0 { return nil }
        try splitter.finish(take)
        guard let last else { throw ConnectionFailure.wentAway() }
        if last["error"] != nil { throw RemoteError.error(status: 500, body: last.canonicalBytes()) }
        line.clear()
        if asJSON { try show(last, console) } else { try tell(last, console) }
        return last["refused"]?.intValue ?? 0
    }

    private func show(_ value: JSONValue, _ console: Console) throws {
        var value = value
        value["peer"] = .string(peer)
        try console.print(value.canonicalText())
        try console.flush()
    }

    private func tell(_ result: JSONValue, _ console: Console) throws {
        let name = DisplayText.safe(peer)
        try console.print(
            "\(StatusMarks.good(console.style)) \(DisplayText.safe(database)) with \(name)   \(counts(result))")
        let wanted = body["direction"]?.stringValue ?? "both"
        guard DisplayText.same(wanted, "both"), let direction = result["direction"]?.stringValue else { return }
        if DisplayText.same(direction, "send") { console.note("  Only sent: nothing may come from \(name).") }
        if DisplayText.same(direction, "receive") { console.note("  Only received: nothing may go to \(name).") }
    }

    private func counts(_ value: JSONValue) -> String {
        var text = "\(Quantity.of(value["sent"]?.intValue ?? 0, "revision")) sent, "
        text += "\(Quantity.grouped(value["received"]?.intValue ?? 0)) received"
        if let refused = value["refused"]?.intValue, refused > 0 { text += ", \(Quantity.grouped(refused)) refused" }
        return text
    }

    /// What remains, as far as it is known.
    private func amounts(_ value: JSONValue) -> String {
        var text = counts(value)
        if let left = value["toSend"]?.intValue, left > 0 { text += ", \(Quantity.grouped(left)) to send" }
        if let left = value["toReceive"]?.intValue, left > 0 { text += ", \(Quantity.grouped(left)) to receive" }
        return text
    }

    private func bar(_ value: JSONValue, _ style: TerminalStyle) -> String {
        let (completed, total) = (value["completed"]?.intValue ?? 0, value["total"]?.intValue ?? 0)
        guard total > 0 else { return "\(DisplayText.safe(peer))  \(counts(value))" }
        return
            "\(DisplayText.safe(peer))  \(StatusMarks.bar(completed: completed, total: total, style))  \(amounts(value))"
    }
}
