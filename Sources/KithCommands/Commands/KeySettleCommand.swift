import KithDocuments

/// `kith key settle`
enum KeySettleCommand: Command {
    static let spec = CommandSpec(
        "key settle", summary: "end the alarm that another machine has this node's key",
        options: [Confirmation.option],
        details: [
            "For the alarms key-shared and key-replaced, which stand until somebody has decided: the copy of this node's home is gone and nobody else can have the key. Where that is not sure, make another one with kith key rotate."
        ],
        examples: [CommandExample("kith key settle", "after the copy of the home was removed")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let console = context.console
        guard try Confirmation.ask("Is no other machine left that has this node's key?", arguments, console) else {
            console.note("Nothing was changed.")
            return ExitStatus.attention
        }
        _ = try context.node.json(NodeRequest("DELETE", ["_kith", "key", "alarms"]))
        try console.print("\(StatusMarks.good(console.style)) The alarm has ended; another sighting begins it anew.")
        return ExitStatus.success
    }
}
