import Glibc
import KithDocuments
import KithNode

/// The command-line program: reads what was typed, does it, prints, and tells the exit code.
public enum Program {
    /// Runs the program with the arguments, environment and standard streams of the process.
    ///
    /// - Returns: the exit code (see kith(1)).
    public static func main() async -> Int32 {
        // A reader that goes away is an error of write(2), never the end of the process.
        signal(SIGPIPE, SIG_IGN)
        var environment: [String: String] = [:]
        var entry = environ
        while let text = entry.pointee {
            let pair = String(cString: text)
            if let sign = pair.utf8.firstIndex(of: UInt8(ascii: "=")) {
                environment[String(pair[..<sign])] = String(pair[pair.utf8.index(after: sign)...])
            }
            entry += 1
        }
        let console = Console(
            output: DescriptorSink(STDOUT_FILENO), error: DescriptorSink(STDERR_FILENO),
            style: .detect(descriptor: STDOUT_FILENO, environment: environment),
            errorIsTerminal: isatty(STDERR_FILENO) == 1, inputIsTerminal: isatty(STDIN_FILENO) == 1)
        do {
            let words = try arguments()
            return await run(
                words, console: console, environment: environment, homes: .system, runner: .system,
                defaultHome: NodeHome.defaultPath())
        } catch {
            return report(error, console)
        }
    }

    /// Runs the program; everything it touches is given to it.
    static func run(
        _ words: [String], console: Console, environment: [String: String], homes: HomeAccess, runner: NodeRunner,
        defaultHome: String
    ) async -> Int32 {
        do {
            let (command, rest) = try CommandTable.resolve(words)
            let arguments = try ArgumentParser(spec: command.spec).parse(rest)
            if arguments.has("help") {
                try console.write(HelpText.page(command.spec).utf8)
                try console.flush()
                return ExitStatus.success
            }
            let context = try CommandContext(
                arguments, console: console, environment: environment, homes: homes, runner: runner,
                defaultHome: defaultHome)
            let code = try await command.run(arguments, context)
            try console.flush()
            return code
        } catch {
            return report(error, console)
        }
    }

    /// The arguments after the program's name.
    ///
    /// - Throws: `UsageError` for one that is not UTF-8: repaired in silence it would name something else.
    private static func arguments() throws(UsageError) -> [String] {
        var words: [String] = []
        let pointers = CommandLine.unsafeArgv
        for index in 1..<max(1, Int(CommandLine.argc)) {
            guard let pointer = pointers[index] else { break }
            guard let word = String(validatingCString: pointer) else {
                throw UsageError("argument \(index) is not UTF-8")
            }
            words.append(word)
        }
        return words
    }

    /// Prints an error and tells its exit code: two lines for a person, one where a program reads.
    private static func report(_ error: any Error, _ console: Console) -> Int32 {
        let message: String
        let remedy: String?
        let code: Int32
        switch error {
        case is OutputClosed: return ExitStatus.success
        case let usage as UsageError: (message, remedy, code) = (usage.message, usage.hint, ExitStatus.usage)
        case let known as KithError: (message, remedy, code) = (known.message, known.remedy, known.code.exitCode)
        default:
            (message, remedy, code) = (
                "\(error)", "This is a bug in Kith: please report it", ErrorCode.internal.exitCode
            )
        }
        let first = "kith: " + oneLine(message)
        guard let remedy else {
            console.note(first)
            return code
        }
        let separator = console.errorIsTerminal ? "\n  " : first.utf8.last == UInt8(ascii: ".") ? " " : ". "
        console.note(first + separator + oneLine(remedy))
        return code
    }

    private static func oneLine(_ text: String) -> String {
        DisplayText.safe(text.split(whereSeparator: \.isNewline).joined(separator: " "))
    }
}
