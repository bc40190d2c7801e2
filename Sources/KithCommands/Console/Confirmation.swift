import Glibc
import KithDocuments

/// Asks the person at the terminal whether something is really meant; No is the default.
enum Confirmation {
    /// - Parameters:
    ///   - question: without the answers that are possible.
    ///   - arguments: `--yes` among them answers it.
    /// - Returns: whether it is meant, which it is where nobody is at a terminal who could be asked.
    /// - Throws: `UsageError` when somebody is there and would not see the question.
    static func ask(_ question: String, _ arguments: ParsedArguments, _ console: Console) throws -> Bool {
        guard try isNeeded(arguments, console) else { return true }
        try console.flush()
        console.noteRaw("\(question) [y/N] ")
        tcflush(STDIN_FILENO, TCIFLUSH)
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }

    /// Whether a person is to be asked.
    ///
    /// - Throws: `UsageError` when somebody is there and would not see the question.
    static func isNeeded(_ arguments: ParsedArguments, _ console: Console) throws -> Bool {
        guard !arguments.has("yes"), console.inputIsTerminal else { return false }
        guard console.errorIsTerminal else {
            throw UsageError(
                "the question cannot be shown, since the standard error is no terminal",
                hint: "Leave the standard error where it is, or answer with --yes")
        }
        return true
    }

    static let option = OptionSpec("yes", short: "y", help: "do not ask")
}
