/// What was typed after the command's name.
struct ParsedArguments: Sendable, Equatable {
    private(set) var positionals: [String] = []
    private var values: [String: [String?]] = [:]

    /// Whether the option was given.
    func has(_ option: String) -> Bool { values[option] != nil }

    /// The value of the option, the last one when it was given more than once.
    func value(_ option: String) -> String? { values[option]?.last ?? nil }

    /// All values of a repeatable option, in the order in which they were typed.
    func values(_ option: String) -> [String] { values[option]?.compactMap { $0 } ?? [] }

    /// The argument at a place, if there are so many.
    func positional(_ index: Int) -> String? { index < positionals.count ? positionals[index] : nil }

    mutating func append(positional: String) { positionals.append(positional) }

    mutating func append(option: String, value: String?) { values[option, default: []].append(value) }
}
