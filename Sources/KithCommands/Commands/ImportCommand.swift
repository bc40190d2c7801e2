import KithDocuments

/// `kith import`
enum ImportCommand: Command {
    static let spec = CommandSpec(
        "import", summary: "write many documents from a file",
        positionals: [
            PositionalSpec("DB", help: "the database"),
            PositionalSpec("FILE", isOptional: true, help: "the file; - or nothing is the standard input"),
        ],
        options: [
            OptionSpec(
                "keep-revisions",
                help: "store each document under its own _rev, beside other versions, as replication does")
        ],
        details: [
            "The file has one JSON object on each line, or is one JSON array of objects; each has its _id. A document with _rev is an edit of that revision, and one that the database does not know keeps its revision, so that an export can be imported elsewhere. Importing the same file again changes nothing.",
            "Documents that cannot be stored are named with their line; all others are stored. Exit code: 14 when a document was refused, 12 when another version of one was there.",
        ],
        examples: [
            CommandExample("kith import notes notes.jsonl", "stores every document of the file"),
            CommandExample("zcat backup.jsonl.gz | kith import notes -", "the same from a pipe"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let file = try InputFile(path: arguments.positional(1) ?? "-")
        let began = MonotonicClock.milliseconds
        let importing = try ImportRun(
            context.node, database: name, console: context.console, keepsRevisions: arguments.has("keep-revisions"))
        var splitter = DocumentSplitter(documentBytesMax: CommandLimits.documentBytesMax)
        do {
            do {
                while true {
                    let bytes = try file.read()
                    if bytes.isEmpty { break }
                    try splitter.receive(bytes, importing.add)
                }
                try splitter.finish(importing.add)
            } catch let fault as JSONElementSplitter.Fault {
                importing.refuse(fault, line: splitter.currentLine)
            }
            try importing.finish()
        } catch let error as KithError {
            importing.clearProgress()
            guard importing.stored > 0 else { throw error }
            throw KithError(
                error.code,
                "\(error.message), after \(Quantity.of(importing.stored, "document was", "documents were")) stored",
                remedy: "Import the same file again: what is there already is passed over")
        }
        var summary = "\(Quantity.of(importing.stored, "document")) imported in "
        summary += Quantity.seconds(milliseconds: MonotonicClock.milliseconds - began)
        if importing.alreadyThere > 0 { summary += ", \(Quantity.grouped(importing.alreadyThere)) already there" }
        if importing.conflicts > 0 { summary += ", \(Quantity.grouped(importing.conflicts)) there in another version" }
        if importing.refused > 0 { summary += ", \(Quantity.grouped(importing.refused)) refused" }
        try context.console.print(summary)
        return importing.exitCode
    }
}
