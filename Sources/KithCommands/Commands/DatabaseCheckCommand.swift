import KithDocuments

/// `kith db check`
enum DatabaseCheckCommand: Command {
    static let spec = CommandSpec(
        "db check", summary: "look whether a database is sound",
        positionals: [PositionalSpec("NAME", help: "the database")],
        options: [OptionSpec("json", help: "what was found as JSON")],
        details: [
            "Reads the whole file: every document with its revisions, what is counted, and every attachment. The node goes on meanwhile. Exit code 26 when something is wrong, and each fault on a line."
        ],
        examples: [CommandExample("kith db check notes", "says whether notes is sound")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let name = try DocumentAddress.checkedDatabase(arguments.positional(0) ?? "")
        let request = MaintenanceRequest(
            [name, "_check"],
            words: ["file": "Checking the file", "documents": "Checking documents", "blobs": "Checking attachments"])
        let report = try Explanation.about(name) { try request.run(context) }
        guard let count = report["fault_count"]?.intValue, let faults = report["faults"]?.arrayValue else {
            throw ConnectionFailure.garbage("no report")
        }
        let exitCode = count == 0 ? ExitStatus.success : ErrorCode.damaged.exitCode
        if arguments.has("json") {
            try context.console.print(report.canonicalText())
            return exitCode
        }
        var parts = [Quantity.of(report["documents"]?.intValue ?? 0, "document")]
        if let attachments = report["attachments"]?.intValue, attachments > 0 {
            parts.append(Quantity.of(attachments, "attachment"))
        }
        let shown = DisplayText.safe(name)
        guard count > 0 else {
            try context.console.print("\(shown) is sound: \(parts.joined(separator: ", "))")
            return exitCode
        }
        for fault in faults { try context.console.print(text(fault)) }
        if count > faults.count { try context.console.print("… and \(Quantity.grouped(count - faults.count)) more") }
        context.console.note(
            "kith: \(shown) is damaged: \(Quantity.of(count, "fault")) in \(parts.joined(separator: ", "))")
        context.console.note(
            "  Keep the file, and restore a backup (kith db restore), or delete it here and let a peer send it anew")
        return exitCode
    }

    private static func text(_ fault: JSONValue) -> String {
        var place = fault["document"]?.stringValue ?? ""
        if let collection = fault["collection"]?.stringValue, collection != "_default" {
            place += (place.isEmpty ? "" : " ") + "in \(collection)"
        }
        let problem = fault["problem"]?.stringValue ?? ""
        return DisplayText.safe(place.isEmpty ? problem : "\(place): \(problem)")
    }
}
