/// One line on the standard error that counts up while something long runs; nothing where nobody watches.
struct ProgressLine {
    private let console: Console
    private var lastDrawnMilliseconds = 0
    private var isDrawn = false

    init(_ console: Console) { self.console = console }

    /// Shows the text, at most ten times a second.
    mutating func show(_ text: @autoclosure () -> String) {
        guard console.errorIsTerminal else { return }
        let now = MonotonicClock.milliseconds
        guard now - lastDrawnMilliseconds >= 100 else { return }
        lastDrawnMilliseconds = now
        isDrawn = true
        console.noteRaw("\r" + text() + "\u{1B}[K")
    }

    /// Removes the line, before anything else is printed.
    mutating func clear() {
        guard isDrawn else { return }
        isDrawn = false
        console.noteRaw("\r\u{1B}[K")
    }
}
