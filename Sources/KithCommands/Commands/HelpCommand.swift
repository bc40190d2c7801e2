/// `kith help`
enum HelpCommand: Command {
    static let spec = CommandSpec(
        "help", summary: "say how a command is used",
        positionals: [
            PositionalSpec("COMMAND", isOptional: true, help: "the command (else the list of all)"),
            PositionalSpec("WORD", isOptional: true, help: "its second word, as in db create"),
        ],
        examples: [CommandExample("kith help import", "explains kith import")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        guard let first = arguments.positional(0) else {
            try console.write(HelpText.overview(CommandTable.all.map { $0.spec }).utf8)
            return ExitStatus.success
        }
        let name = arguments.positional(1).map { first + " " + $0 } ?? first
        if let command = CommandTable.command(named: name) {
            try console.write(HelpText.page(command.spec).utf8)
            return ExitStatus.success
        }
        let group = arguments.positional(1) == nil ? CommandTable.commands(inGroup: first) : []
        guard !group.isEmpty else {
            let names = CommandTable.all.map { $0.spec.name }
            throw UsageError(
                "there is no command \(DisplayText.safe(name))",
                hint: Suggestion.nearest(to: name, among: names).map { "Did you mean kith help \($0)?" }
                    ?? "See: kith help")
        }
        try console.write(group.map { HelpText.page($0.spec) }.joined(separator: "\n").utf8)
        return ExitStatus.success
    }
}
