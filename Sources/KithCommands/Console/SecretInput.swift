import Glibc

/// What is typed and must not be seen.
enum SecretInput {
    /// A line of the terminal that is not shown while it is typed.
    static func line(_ context: CommandContext) -> String {
        var before = termios()
        tcgetattr(STDIN_FILENO, &before)
        var hidden = before
        hidden.c_lflag &= ~tcflag_t(ECHO)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            context.console.noteRaw("\n")
        }
        return readLine() ?? ""
    }

    /// A new password: typed twice at a terminal, else the first line of the standard input.
    ///
    /// - Parameter name: whose it will be, for the question.
    /// - Throws: `UsageError` when both are not the same, or there is none.
    static func newPassword(for name: String, _ context: CommandContext) throws -> String {
        guard context.console.inputIsTerminal, context.console.errorIsTerminal else {
            guard let line = readLine(), !line.isEmpty else {
                throw UsageError("there is no password on the standard input")
            }
            return line
        }
        try context.console.flush()
        context.console.noteRaw("Password for \(DisplayText.safe(name)): ")
        let password = line(context)
        context.console.noteRaw("The same again: ")
        guard line(context).utf8.elementsEqual(password.utf8) else {
            throw UsageError("the two passwords are not the same; nothing was changed")
        }
        guard !password.isEmpty else { throw UsageError("no password was typed; nothing was changed") }
        return password
    }
}
