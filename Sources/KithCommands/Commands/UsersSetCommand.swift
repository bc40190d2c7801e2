import KithDocuments

/// `kith users set`
enum UsersSetCommand: Command {
    static let spec = CommandSpec(
        "users set", summary: "change a user's roles or password",
        positionals: [PositionalSpec("NAME", help: "the user")],
        options: [
            UsersCommand.rolesOption, OptionSpec("no-roles", help: "takes all roles away"),
            OptionSpec("password", help: "asks for a new password, or reads it from the standard input"),
            OptionSpec("disable", help: "refuses logins, and ends sessions"),
            OptionSpec("enable", help: "takes logins again"), OptionSpec("json", help: "the user as JSON"),
        ],
        details: [
            "The roles that are named are all that the user has then. A new password ends what was opened with the old one."
        ],
        examples: [
            CommandExample("kith users set ann --role staff --role nurses", "gives ann these two roles"),
            CommandExample("kith users set ann --password", "asks for a new password"),
            CommandExample("kith users set ann --disable", "keeps ann out for now"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = arguments.positional(0) ?? ""
        var members: [(String, JSONValue)] = []
        let roles = arguments.values("role")
        guard roles.isEmpty || !arguments.has("no-roles") else {
            throw UsageError("--role and --no-roles exclude each other")
        }
        guard !arguments.has("disable") || !arguments.has("enable") else {
            throw UsageError("--disable and --enable exclude each other")
        }
        if !roles.isEmpty || arguments.has("no-roles") { members.append(("roles", .array(roles.map { .string($0) }))) }
        if arguments.has("disable") { members.append(("disabled", true)) }
        if arguments.has("enable") { members.append(("disabled", false)) }
        guard !members.isEmpty || arguments.has("password") else {
            throw UsageError("nothing is named that is to be changed")
        }
        guard try name.isEmpty || UsersCommand.exists(name, context) else {
            throw KithError(
                .notFound, "there is no user \(DisplayText.safe(name))", remedy: "See the users: kith users")
        }
        if arguments.has("password") {
            members.append(("password", .string(try SecretInput.newPassword(for: name, context))))
        }
        return try UsersCommand.change(name, members, only: "existing", arguments, context, done: "is changed")
    }
}
