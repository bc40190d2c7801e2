import Glibc
import KithDocuments

/// `kith put`
enum PutCommand: Command {
    static let spec = CommandSpec(
        "put", summary: "write a document",
        positionals: [
            PositionalSpec("DB", help: "the database"), PositionalSpec("DOC", help: "the document's ID"),
            PositionalSpec("JSON", isOptional: true, help: "its body, or - to read it from the standard input"),
        ],
        options: [
            OptionSpec("file", short: "f", value: .required("FILE"), help: "read the body from a file"),
            OptionSpec("rev", value: .required("REV"), help: "the revision that is replaced"),
            OptionSpec("json", help: "print the answer as JSON"),
        ],
        details: [
            "A document that is there is replaced only when its current revision is named, with --rev or as _rev in the body: otherwise a change that somebody else made in the meantime would be lost. Prints the ID and the new revision.",
            "Without JSON and --file the body is read from the standard input when that is not a terminal.",
        ],
        examples: [
            CommandExample("kith put notes list:1 '{\"items\": [\"milk\"]}'", "writes a new document"),
            CommandExample(
                "kith put notes list:1 -f list.json --rev 1-c03e…", "replaces that revision by what is in the file"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(
            database: arguments.positional(0) ?? "", document: arguments.positional(1) ?? "")
        let revision = try arguments.value("rev").map { try RevisionID(parsing: $0).description }
        let body = try body(arguments)
        let query = revision.map { [(name: "rev", value: $0)] } ?? []
        let answer: JSONValue
        do {
            answer = try Explanation.about(address.database) {
                try context.node.json(NodeRequest("PUT", address.path, query: query, body: body))
            }
        } catch let error as KithError where error.code == .conflict {
            throw try explain(error, address, context)
        }
        if arguments.has("json") {
            try context.console.print(answer.canonicalText())
        } else {
            let id = DisplayText.safe(answer["id"]?.stringValue ?? address.document)
            try context.console.print("\(id)  \(answer["rev"]?.stringValue ?? "")")
        }
        return ExitStatus.success
    }

    private static func body(_ arguments: ParsedArguments) throws -> [UInt8] {
        let text = arguments.positional(2)
        let limit = CommandLimits.documentBytesMax
        if let file = arguments.value("file") {
            guard text == nil else { throw UsageError("the body was given twice: as JSON and with --file") }
            return try InputFile(path: file).readAll(bytesMax: limit)
        }
        if let text, text != "-" { return Array(text.utf8) }
        if text == nil, isatty(STDIN_FILENO) == 1 {
            throw UsageError(
                "JSON is missing: \(spec.usage)", hint: "Type it in quotes, or use -f FILE. See: kith help put")
        }
        return try InputFile(path: "-").readAll(bytesMax: limit)
    }

    /// Names the revision that the document has, and what to type.
    private static func explain(
        _ error: KithError, _ address: DocumentAddress, _ context: CommandContext
    ) throws -> KithError {
        guard let current = try? context.node.currentRevision(address) else { return error }
        let names = "\(ShellQuoting.quote(address.database)) \(ShellQuoting.quote(address.document))"
        return KithError(
            .conflict, "\(address.shown) is there, at revision \(current)",
            remedy: "To replace it: kith put \(names) --rev \(current) …")
    }
}
