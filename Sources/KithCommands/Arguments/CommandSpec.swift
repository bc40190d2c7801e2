/// What a command is called, what it takes, and what its help says.
struct CommandSpec: Sendable {
    /// The words after `kith`: `get`, `db create`.
    let name: String
    /// One line for the list of commands.
    let summary: String
    let positionals: [PositionalSpec]
    /// Its own options; the common ones come on top.
    let options: [OptionSpec]
    /// Paragraphs for the help.
    let details: [String]
    let examples: [CommandExample]

    init(
        _ name: String, summary: String, positionals: [PositionalSpec] = [], options: [OptionSpec] = [],
        details: [String] = [], examples: [CommandExample]
    ) {
        self.name = name
        self.summary = summary
        self.positionals = positionals
        self.options = options
        self.details = details
        self.examples = examples
    }

    /// Its own options and the common ones it does not replace.
    var allOptions: [OptionSpec] {
        let own = Set(options.map(\.long))
        return options + OptionSpec.common.filter { !own.contains($0.long) }
    }

    /// The line that shows how to type it.
    var usage: String {
        var text = "kith \(name)"
        for positional in positionals {
            text += positional.isOptional ? " [\(positional.name)]" : " \(positional.name)"
        }
        if !options.isEmpty { text += " [OPTIONS]" }
        return text
    }
}
