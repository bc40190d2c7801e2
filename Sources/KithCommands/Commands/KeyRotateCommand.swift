import KithDocuments

/// `kith key rotate`
enum KeyRotateCommand: Command {
    static let spec = CommandSpec(
        "key rotate", summary: "give this node another key, which its peers follow",
        options: [Confirmation.option, OptionSpec("json", help: "the old and the new ID as JSON")],
        details: [
            "The node must be stopped. The old key signs the new one and is gone then; peers that meet the node follow it, also those that were off, and refuse the old key from then on. Where somebody else may have the old key, he can do the same: revoke the node and pair it again instead.",
            "The node has another ID afterwards. What its peers have of each database is compared once more, from the beginning.",
        ],
        examples: [CommandExample("kith key rotate", "makes a new key")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        let home = try context.homes.open(context.homePath)
        let old = home.node
        guard try Confirmation.ask("Make a new key for \(old.shown)?", arguments, console) else {
            console.note("Nothing was changed.")
            return ExitStatus.attention
        }
        let new = try home.rotateKey()
        if arguments.has("json") {
            let value: JSONValue = ["formerID": .string(old.id), "id": .string(new.id), "name": .string(new.name)]
            try console.print(value.canonicalText())
        } else {
            try console.print(
                "\(StatusMarks.good(console.style)) \(new.shown)   is the new key in the place of \(old.short)")
            try console.print("    Start the node, so that its peers follow    kith up")
        }
        return ExitStatus.success
    }
}
