/// What a command prints to: results to the standard output, everything about them to the standard error.
final class Console {
    let style: TerminalStyle
    /// Whether the standard error is a terminal, where progress may be redrawn.
    let errorIsTerminal: Bool
    /// Whether the standard input is a terminal, where a person can answer.
    let inputIsTerminal: Bool
    private let output: any OutputSink
    private let errorOutput: any OutputSink
    private var pending: [UInt8] = []

    init(
        output: any OutputSink, error: any OutputSink, style: TerminalStyle, errorIsTerminal: Bool,
        inputIsTerminal: Bool = false
    ) {
        self.output = output
        self.errorOutput = error
        self.style = style
        self.errorIsTerminal = errorIsTerminal
        self.inputIsTerminal = inputIsTerminal
    }

    /// Prints a line of results.
    func print(_ line: String) throws {
        pending.append(contentsOf: line.utf8)
        pending.append(UInt8(ascii: "\n"))
        if pending.count >= CommandLimits.outputBufferBytes { try flush() }
    }

    /// Prints bytes of results as they are.
    func write(_ bytes: some Sequence<UInt8>) throws {
        pending.append(contentsOf: bytes)
        if pending.count >= CommandLimits.outputBufferBytes { try flush() }
    }

    /// Hands over what was printed so far.
    func flush() throws {
        guard !pending.isEmpty else { return }
        let bytes = pending
        // Forgotten also when writing fails: it would fail in the same way at the end of the program.
        pending.removeAll(keepingCapacity: true)
        try output.write(bytes)
    }

    /// Says something about the results, on the standard error. Where that cannot be written there is nobody to tell.
    func note(_ text: String) {
        try? flush()
        try? errorOutput.write((text + "\n").utf8)
    }

    /// Writes on the standard error without a line end: progress on a terminal.
    func noteRaw(_ text: String) { try? errorOutput.write(text.utf8) }
}
