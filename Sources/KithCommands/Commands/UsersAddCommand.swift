import KithDocuments

/// `kith users add`
enum UsersAddCommand: Command {
    static let spec = CommandSpec(
        "users add", summary: "let somebody log in with a password",
        positionals: [PositionalSpec("NAME", help: "what is typed at a login")],
        options: [UsersCommand.rolesOption, OptionSpec("json", help: "the user as JSON")],
        details: [
            "The password is asked for at the terminal, without being shown; a program writes it to the standard input as one line.",
            "A name that is there already is refused; change it with kith users set.",
        ],
        examples: [
            CommandExample("kith users add ann --role staff", "asks for a password twice"),
            CommandExample("kith users add till < password.txt", "for a program"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        guard try name.isEmpty || !UsersCommand.exists(name, context) else {
            throw KithError(
                .conflict, "there is a user \(DisplayText.safe(name)) already",
                remedy: "Change it with: kith users set \(DisplayText.safe(name))")
        }
        let password = try SecretInput.newPassword(for: name, context)
        return try UsersCommand.change(
            name,
            [("password", .string(password)), ("roles", .array(arguments.values("role").map { .string($0) }))],
            only: "new", arguments, context, done: "can log in now")
    }
}
