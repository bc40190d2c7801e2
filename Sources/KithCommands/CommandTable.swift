/// All commands, in the order in which help lists them.
enum CommandTable {
    static let all: [any Command.Type] = [
        InitCommand.self, UpCommand.self, StatusCommand.self, IDCommand.self, PairCommand.self, PairAcceptCommand.self,
        PairInviteCommand.self, PairJoinCommand.self,
        TrustCommand.self, UntrustCommand.self, PeersCommand.self, PeersAddCommand.self, PeersSetCommand.self,
        PeersShowCommand.self, PeersRenameCommand.self, PeersVerifyCommand.self, PeersRevokeCommand.self,
        PeersRestoreCommand.self, CertRenewCommand.self, CertRequestCommand.self, CertInstallCommand.self,
        KeyRotateCommand.self, KeySettleCommand.self,
        UsersCommand.self, UsersAddCommand.self, UsersSetCommand.self, UsersRemoveCommand.self,
        DatabaseCreateCommand.self, DatabaseListCommand.self, DatabaseSetCommand.self, DatabaseDeleteCommand.self,
        DatabaseDigestCommand.self,
        DatabaseCheckCommand.self, DatabaseCompactCommand.self, DatabaseBackupCommand.self, DatabaseRestoreCommand.self,
        DatabaseCopyCommand.self,
        PutCommand.self, GetCommand.self, DeleteCommand.self, ListCommand.self, ImportCommand.self, ExportCommand.self,
        ChangesCommand.self, ConflictsCommand.self, ConflictsShowCommand.self, ConflictsResolveCommand.self,
        ExplainCommand.self, SyncCommand.self,
        WaitCommand.self, VersionCommand.self,
        HelpCommand.self,
    ]

    /// Words that only begin the names of commands.
    static let groups = ["db", "cert", "key"]

    static func command(named name: String) -> (any Command.Type)? { all.first { $0.spec.name == name } }

    /// The commands whose first word is this one.
    static func commands(inGroup group: String) -> [any Command.Type] {
        all.filter { $0.spec.name == group || $0.spec.name.hasPrefix(group + " ") }
    }

    /// Finds the command among the words, which may have options before it.
    ///
    /// - Returns: the command, or `nil` for a group's own help, and the other words in their order.
    /// - Throws: `UsageError`.
    static func resolve(_ words: [String]) throws(UsageError) -> (command: any Command.Type, rest: [String]) {
        var before: [String] = []
        var index = 0
        while index < words.count, words[index].utf8.first == UInt8(ascii: "-"), words[index] != "--" {
            let word = words[index]
            before.append(word)
            index += 1
            let takesValue = OptionSpec.common.contains { option in
                if case .required = option.value { return word == "--" + option.long }
                return false
            }
            if takesValue, index < words.count {
                before.append(words[index])
                index += 1
            }
        }
        guard index < words.count else {
            if before.contains("--version") { return (VersionCommand.self, before.filter { $0 != "--version" }) }
            if before.contains("--help") || before.contains("-h") { return (HelpCommand.self, []) }
            return (StatusCommand.self, before)
        }
        let first = words[index]
        index += 1
        if index < words.count, let command = command(named: first + " " + words[index]) {
            return (command, before + words[(index + 1)...])
        }
        // `conflicts list` and `peers list` may be written like `db list`.
        if [ConflictsCommand.spec.name, PeersCommand.spec.name].contains(first), index < words.count,
            words[index] == "list"
        {
            index += 1
        }
        if let command = command(named: first) { return (command, before + words[index...]) }
        let rest = Array(words[index...])
        if groups.contains(first) {
            if rest.contains("--help") || rest.contains("-h") { return (HelpCommand.self, [first]) }
            throw unknown(rest.first, inGroup: first)
        }
        throw unknown(first)
    }

    private static func unknown(_ word: String?, inGroup group: String) -> UsageError {
        let names = commands(inGroup: group).map { String($0.spec.name.dropFirst(group.count + 1)) }
        let hint = "kith \(group) \(names.joined(separator: " | "))"
        guard let word else {
            return UsageError("kith \(group) needs one more word: \(hint)", hint: "See: kith help \(group)")
        }
        let shown = DisplayText.safe(word)
        if let near = Suggestion.nearest(to: word, among: names) {
            return UsageError("there is no command \(group) \(shown)", hint: "Did you mean kith \(group) \(near)?")
        }
        return UsageError("there is no command \(group) \(shown): \(hint)", hint: "See: kith help \(group)")
    }

    private static func unknown(_ word: String) -> UsageError {
        let names = all.map { String($0.spec.name.prefix { $0 != " " }) }
        let hint =
            Suggestion.nearest(to: word, among: names).map { "Did you mean kith \($0)?" } ?? "See: kith help"
        return UsageError("there is no command \(DisplayText.safe(word))", hint: hint)
    }
}
