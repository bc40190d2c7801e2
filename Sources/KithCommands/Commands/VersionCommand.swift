/// `kith version`
enum VersionCommand: Command {
    static let spec = CommandSpec(
        "version", summary: "print the version of this program",
        examples: [CommandExample("kith version", "prints: kith \(ProgramVersion.text)")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        try context.console.print("kith \(ProgramVersion.text)")
        return ExitStatus.success
    }
}
