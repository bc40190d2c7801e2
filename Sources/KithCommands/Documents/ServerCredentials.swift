import Glibc
import KithDocuments
import KithNode

/// The user and the password for a CouchDB server, from where they cannot be seen in the list of processes.
enum ServerCredentials {
    /// The variable of the environment that may have the password.
    static let variable = "KITH_SYNC_PASSWORD"
    private static let fileBytesMax = 4_096

    /// What is to be sent to the node as `auth`; nil when nobody has said who asks.
    ///
    /// - Throws: `UsageError` for a password in the URL, and a user without a password; errors of the file.
    static func find(_ address: CouchDBAddress, _ arguments: ParsedArguments, _ context: CommandContext) throws
        -> JSONValue?
    {
        guard !address.hasPassword else {
            throw UsageError(
                "a password in the URL can be seen by everybody in the list of processes",
                hint: "Leave it out and write USER:PASSWORD to a file of your own: --user-file FILE")
        }
        if let path = arguments.value("user-file") {
            let bytes = try InputFile(path: path).readAll(bytesMax: fileBytesMax)
            let line = String(
                decoding: bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }, as: UTF8.self)
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw UsageError("the file of --user-file does not begin with USER:PASSWORD")
            }
            return auth(String(parts[0]), String(parts[1]))
        }
        guard let user = address.user else { return nil }
        if let password = context.environment[variable] { return auth(user, password) }
        guard context.console.inputIsTerminal, context.console.errorIsTerminal else {
            throw UsageError(
                "there is no password for \(DisplayText.safe(user))",
                hint: "Write USER:PASSWORD to a file of your own: --user-file FILE; or set \(variable)")
        }
        try context.console.flush()
        context.console.noteRaw("Password for \(DisplayText.safe(user)): ")
        return auth(user, try SecretInput.line(context))
    }

    private static func auth(_ user: String, _ password: String) -> JSONValue {
        ["basic": ["username": .string(user), "password": .string(password)]]
    }
}
