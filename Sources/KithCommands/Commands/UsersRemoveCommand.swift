import KithDocuments

/// `kith users remove`
enum UsersRemoveCommand: Command {
    static let spec = CommandSpec(
        "users remove", summary: "let a user log in no more, and forget it",
        positionals: [PositionalSpec("NAME", help: "the user")],
        details: [
            "Takes effect at once. What _security says of the name stays there; kith users set NAME --disable keeps the user."
        ],
        examples: [CommandExample("kith users remove ann", "ann is no longer known")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        guard !name.isEmpty else { throw KithError(.badName, "the name of the user is empty") }
        do {
            _ = try context.node.send(NodeRequest("DELETE", ["_kith", "users", name]))
        } catch let error as KithError where error.code == .notFound {
            throw KithError(
                .notFound, "there is no user \(DisplayText.safe(name))", remedy: "See the users: kith users")
        }
        try context.console.print("Removed \(DisplayText.safe(name))")
        return ExitStatus.success
    }
}
