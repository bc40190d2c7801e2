import KithDocuments

@testable import KithCommands

/// One run of the program with everything around it under the test's control.
struct ProgramRun {
    let code: Int32
    let output: String
    let error: String

    init(
        _ words: String..., home: String, style: TerminalStyle = TerminalStyle(), errorIsTerminal: Bool = false,
        inputIsTerminal: Bool = false,
        homes: HomeAccess = .absent, runner: NodeRunner = .none
    ) async {
        let output = MemorySink()
        let error = MemorySink()
        let console = Console(
            output: output, error: error, style: style, errorIsTerminal: errorIsTerminal,
            inputIsTerminal: inputIsTerminal)
        code = await Program.run(
            words, console: console, environment: [:], homes: homes, runner: runner, defaultHome: home)
        self.output = output.text
        self.error = error.text
    }
}

extension HomeAccess {
    /// A machine without a home.
    static let absent = HomeAccess(
        create: { _, _, _, _ in throw KithError(.homeNotWritable, "nothing can be written here") },
        open: { path in throw KithError(.notInitialised, "there is no home at \(path)") },
        exists: { _ in false })
}

extension NodeRunner {
    /// Runs nothing.
    static let none = NodeRunner { _, _, _ in }
}
