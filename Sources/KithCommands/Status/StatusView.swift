import KithDocuments

/// What of the status was asked for, and how.
struct StatusView {
    let isJSON: Bool
    let isRedacted: Bool
    let onlyProblems: Bool
    /// The peer or database, if only one was asked for.
    let subject: String?
    let selection: StatusSelection
    /// How often a watched screen is drawn again.
    let redrawMilliseconds: Int

    /// - Throws: `UsageError`.
    init(_ arguments: ParsedArguments) throws {
        isJSON = arguments.has("json")
        isRedacted = arguments.has("redact")
        onlyProblems = arguments.has("check") || arguments.has("problems")
        subject = arguments.positional(0)
        var selection = StatusSelection.everything
        selection.isVerbose = arguments.has("verbose")
        if arguments.has("peers") {
            selection.showsDatabases = false
            selection.showsOthers = false
            selection.showsProblems = false
        }
        if arguments.has("no-peers") { selection.showsPeers = false }
        self.selection = selection
        if let text = arguments.value("watch") {
            guard let milliseconds = DurationText.milliseconds(text) else {
                throw UsageError("“\(DisplayText.safe(text))” is not a number of seconds")
            }
            redrawMilliseconds = milliseconds
        } else {
            redrawMilliseconds = CommandLimits.redrawMilliseconds
        }
    }

    /// The screen.
    ///
    /// - Throws: `KithError` (not_found) when the peer or database asked for is not there.
    func lines(
        _ report: StatusReport, _ moment: Moment, _ style: TerminalStyle, rates: StatusRates = StatusRates()
    ) throws -> [String] {
        if let subject {
            if let peer = report.peer(named: subject) {
                return PeerPage(peer: peer, moment: moment, style: style).lines
            }
            if let database = report.databases.first(where: { DisplayText.same($0.name, subject) }) {
                return DatabasePage(database: database, report: report, moment: moment, style: style).lines
            }
            throw KithError(
                .notFound, "there is no peer and no database \(DisplayText.safe(subject))",
                remedy: "See both: kith status")
        }
        let screen = StatusScreen(report: report, moment: moment, style: style, selection: selection, rates: rates)
        return onlyProblems ? screen.problemLines : screen.lines
    }
}
