import Glibc
import KithDocuments

/// Asks the person at the terminal whether something is really meant; No is the default.
enum Confirmation {
    /// - Parameters:
    ///   - question: without the answers that are possible.
    ///   - arguments: `--yes` among them answers it.
    /// - Returns: whether it is meant, which it is where nobody is at a terminal who could be asked.
    static func ask(_ question: String, _ arguments: ParsedArguments, _ console: Console) throws -> Bool {
        guard !arguments.has("yes"), isatty(STDIN_FILENO) == 1, console.errorIsTerminal else { return true }
        try console.flush()
        console.noteRaw("\(question) [y/N] ")
        tcflush(STDIN_FILENO, TCIFLUSH)
        return ["y", "yes"].contains((readLine() ?? "").lowercased())
    }

    static let option = OptionSpec("yes", short: "y", help: "do not ask")
}
