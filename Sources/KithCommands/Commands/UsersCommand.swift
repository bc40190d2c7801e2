import KithDocuments

/// `kith users`
enum UsersCommand: Command {
    static let spec = CommandSpec(
        "users", summary: "show who can log in with a password",
        options: [OptionSpec("json", help: "one JSON object on each line")],
        details: [
            "Users are people and programs that come over the network without being a paired node. What each may do with a database is said by its _security."
        ],
        examples: [CommandExample("kith users", "lists all users")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let users = try context.node.json(NodeRequest("GET", ["_kith", "users"]))["users"]?.arrayValue ?? []
        let console = context.console
        if arguments.has("json") {
            for user in users { try console.print(user.canonicalText()) }
            return ExitStatus.success
        }
        guard !users.isEmpty else {
            if console.style.isTerminal { console.note("There is no user yet. Add one with: kith users add NAME") }
            return ExitStatus.success
        }
        var table = TextTable(console.style)
        table.add(["USER", "ROLES", ""].map { TextTable.Cell($0, .dim) })
        for user in users {
            let roles = user["roles"]?.arrayValue?.compactMap(\.stringValue) ?? []
            table.add([
                TextTable.Cell(DisplayText.safe(user["name"]?.stringValue ?? "")),
                TextTable.Cell(roles.isEmpty ? "none" : DisplayText.safe(roles.joined(separator: ", "))),
                TextTable.Cell(user["disabled"]?.boolValue == true ? "may not log in" : ""),
            ])
        }
        for line in table.lines { try console.print(line) }
        return ExitStatus.success
    }

    static let rolesOption = OptionSpec(
        "role", value: .required("ROLE"), isRepeatable: true,
        help: "a role that the user has; _admin may do everything on this node")

    /// Makes or changes a user, and says what was done.
    ///
    /// - Parameter only: `new` or `existing`: while somebody types a password, another may add or remove the user.
    static func change(
        _ name: String, _ members: [(String, JSONValue)], only: String, _ arguments: ParsedArguments,
        _ context: CommandContext, done: String
    ) throws -> Int32 {
        guard !name.isEmpty else { throw KithError(.badName, "the name of the user is empty") }
        let request = NodeRequest(
            "PUT", ["_kith", "users", name], query: [("only", only)],
            body: JSONValue.object(JSONObject(members)).canonicalBytes())
        let user = try context.node.json(request)
        if arguments.has("json") {
            try context.console.print(user.canonicalText())
        } else {
            try context.console.print("\(StatusMarks.good(context.console.style)) \(DisplayText.safe(name)) \(done)")
        }
        return ExitStatus.success
    }

    /// Whether the node has a user of this name.
    static func exists(_ name: String, _ context: CommandContext) throws -> Bool {
        do {
            _ = try context.node.json(NodeRequest("GET", ["_kith", "users", name]))
            return true
        } catch let error as KithError where error.code == .notFound {
            return false
        }
    }
}
