import Glibc
import KithDocuments

/// What is typed and must not be seen.
enum SecretInput {
    /// A line of the terminal that is not shown while it is typed. Ctrl-C puts the terminal in order before it ends the command.
    ///
    /// - Throws: `.inputOutput` when the terminal would show it; `UsageError` for what is no text.
    static func line(_ context: CommandContext) throws -> String {
        Interruption.begin()
        var before = termios()
        var hidden = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0, tcgetattr(STDIN_FILENO, &hidden) == 0 else { throw notHidden() }
        hidden.c_lflag &= ~tcflag_t(ECHO)
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0 else { throw notHidden() }
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            context.console.noteRaw("\n")
        }
        let line = try readText()
        let interruption = Interruption.take()
        guard interruption == 0 else {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            context.console.noteRaw("\n")
            signal(interruption, SIG_DFL)
            raise(interruption)
            return ""
        }
        return line ?? ""
    }

    /// A new password: typed twice at a terminal, else the first line of the standard input.
    ///
    /// - Parameter name: whose it will be, for the question.
    /// - Throws: `UsageError` when both are not the same, there is none, or it is no text; as `line`.
    static func newPassword(for name: String, _ context: CommandContext) throws -> String {
        guard context.console.inputIsTerminal, context.console.errorIsTerminal else {
            guard let line = try readText(), !line.isEmpty else {
                throw UsageError("there is no password on the standard input")
            }
            return line
        }
        try context.console.flush()
        context.console.noteRaw("Password for \(DisplayText.safe(name)): ")
        let password = try line(context)
        context.console.noteRaw("The same again: ")
        guard try line(context).utf8.elementsEqual(password.utf8) else {
            throw UsageError("the two passwords are not the same; nothing was changed")
        }
        guard !password.isEmpty else { throw UsageError("no password was typed; nothing was changed") }
        return password
    }

    /// A line of the standard input as it is, not repaired: two passwords must not become one. Ends early when a signal comes.
    ///
    /// - Returns: nil where there is nothing.
    private static func readText() throws -> String? {
        var bytes: [UInt8] = []
        var hasLine = false
        while !hasLine, Interruption.signal == 0 {
            var byte: UInt8 = 0
            let count = read(STDIN_FILENO, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { break }
            hasLine = byte == UInt8(ascii: "\n")
            if !hasLine { bytes.append(byte) }
            guard bytes.count <= CommandLimits.secretBytesMax else {
                throw UsageError("that is too long for a password")
            }
        }
        guard hasLine || !bytes.isEmpty else { return nil }
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw UsageError("the password is no UTF-8; set the terminal or the file to UTF-8")
        }
        return text
    }

    private static func notHidden() -> KithError {
        KithError(.inputOutput, "the terminal would show what is typed: \(String(cString: strerror(errno)))")
    }
}
