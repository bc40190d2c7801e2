/// One option of a command, as it is declared.
struct OptionSpec: Sendable {
    /// Whether the option takes a value.
    enum Value: Sendable {
        /// A switch.
        case none
        /// `--name VALUE`, `--name=VALUE`, `-n VALUE`; the text is what the help calls the value.
        case required(String)
        /// `--name` or `--name=VALUE`: the value only ever follows an equals sign, so that it is never mistaken for
        /// the next argument.
        case optional(String)
    }

    /// The name after the two dashes.
    let long: String
    /// The letter after one dash.
    let short: Character?
    let value: Value
    /// Whether it may be given more than once.
    let isRepeatable: Bool
    /// One line for the help.
    let help: String

    init(_ long: String, short: Character? = nil, value: Value = .none, isRepeatable: Bool = false, help: String) {
        self.long = long
        self.short = short
        self.value = value
        self.isRepeatable = isRepeatable
        self.help = help
    }

    /// How the help writes it: `-f, --file FILE`.
    var spelling: String {
        var text = short.map { "-\($0), --\(long)" } ?? "    --\(long)"
        switch value {
        case .none: break
        case .required(let name): text += " \(name)"
        case .optional(let name): text += "[=\(name)]"
        }
        return text
    }

    /// The options that every command takes.
    static let common: [OptionSpec] = [
        OptionSpec("home", value: .required("DIR"), help: "the node's folder (else $KITH_HOME)"),
        OptionSpec("socket", value: .required("PATH"), help: "the node's socket, when it is not in the home"),
        OptionSpec(
            "timeout", value: .required("TIME"), help: "how long a silent node is waited for, such as 10s or 2m"),
        OptionSpec("help", short: "h", help: "this text"),
    ]
}
