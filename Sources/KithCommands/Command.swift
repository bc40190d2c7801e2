/// One command of the program.
protocol Command: Sendable {
    static var spec: CommandSpec { get }

    /// Does it.
    ///
    /// - Returns: the exit code.
    /// - Throws: `KithError`, `UsageError`, `OutputClosed`.
    static func run(_ arguments: ParsedArguments, _ context: CommandContext) async throws -> Int32
}
