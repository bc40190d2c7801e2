/// One argument of a command that is known by its place.
struct PositionalSpec: Sendable {
    /// What the help calls it.
    let name: String
    let isOptional: Bool
    /// One line for the help.
    let help: String

    init(_ name: String, isOptional: Bool = false, help: String) {
        self.name = name
        self.isOptional = isOptional
        self.help = help
    }
}
