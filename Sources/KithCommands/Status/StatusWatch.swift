import Glibc
import KithDocuments

/// Shows the status again and again: the screen redrawn on a terminal, one line for each change in a pipe, one object
/// on each line as JSON.
final class StatusWatch {
    private let client: NodeClient
    private let view: StatusView
    private let console: Console
    private var screen = RedrawnScreen()
    private var events = StatusEvents()
    private var rates = StatusRates()
    private var last: StatusReport?
    private var isGone = false

    init(_ client: NodeClient, _ view: StatusView, _ context: CommandContext) {
        self.client = client
        self.view = view
        console = context.console
    }

    private var redraws: Bool { console.style.isTerminal && !view.isJSON }

    /// Goes on until Ctrl-C, or until nobody reads; a node that ends is waited for.
    ///
    /// - Throws: `KithError` when there is no node at the beginning.
    func run() throws -> Int32 {
        if redraws {
            Interruption.begin()
            try console.write(RedrawnScreen.hideCursor.utf8)
        }
        defer {
            if redraws {
                try? console.write(RedrawnScreen.showCursor.utf8)
                try? console.flush()
            }
        }
        var hasAnswered = false
        while Interruption.signal == 0 {
            do {
                try follow { hasAnswered = true }
                try gone()
            } catch let error as KithError {
                let isAbsent = [.noNode, .nodeUnreachable, .connectionLost].contains(error.code)
                guard hasAnswered, isAbsent else { throw error }
                try gone()
            }
            if Interruption.signal == 0 { _ = poll(nil, 0, Int32(CommandLimits.reconnectMilliseconds)) }
        }
        // As a shell tells the end by a signal.
        return 128 + Interruption.signal
    }

    private func follow(_ onAnswer: () -> Void) throws {
        var splitter = LineSplitter(lineBytesMax: CommandLimits.documentBytesMax)
        let request = NodeRequest("GET", ["_kith", "status"], query: [("feed", "continuous")])
        try client.stream(request, silenceMilliseconds: Int.max / 2, tickMilliseconds: view.redrawMilliseconds) {
            if let last, redraws { try draw(last) }
            return .more
        } onBody: { piece in
            try splitter.receive(piece) { (line) throws in
                if line.isEmpty { return }
                onAnswer()
                try show(try NodeClient.parse(line))
            }
            return Interruption.signal == 0 ? .more : .enough
        }
    }

    private func show(_ value: JSONValue) throws {
        isGone = false
        let shown = view.isRedacted ? StatusRedaction.redact(value) : value
        let report = try StatusReport(shown)
        rates.note(report, atMilliseconds: MonotonicClock.milliseconds)
        last = report
        if view.isJSON {
            try console.print(shown.canonicalText())
        } else if redraws {
            try draw(report)
        } else {
            for line in events.lines(for: report, moment: .current, milliseconds: MonotonicClock.milliseconds) {
                try console.print(line)
            }
        }
        try console.flush()
    }

    private func draw(_ report: StatusReport) throws {
        var style = console.style
        (style.columns, style.rows) = TerminalStyle.size(descriptor: STDOUT_FILENO)
        try console.write(screen.frame(try view.lines(report, .current, style, rates: rates), style).utf8)
        try console.flush()
    }

    private func gone() throws {
        guard !isGone, Interruption.signal == 0 else { return }
        isGone = true
        let error = ConnectionFailure.ended()
        last = nil
        rates = StatusRates()
        if view.isJSON {
            try console.print(StoppedScreen.json(error).canonicalText())
        } else if redraws {
            try console.write(screen.frame(StoppedScreen.lines(error, console.style), console.style).utf8)
        } else {
            try console.print(events.stopped(error.message, moment: .current))
        }
        try console.flush()
    }
}
