import KithDocuments

/// `kith conflicts resolve`
enum ConflictsResolveCommand: Command {
    static let spec = CommandSpec(
        "conflicts resolve", summary: "end a conflict: keep one version, or write a merged one",
        positionals: DocumentAddress.positionals,
        options: [
            OptionSpec(
                "keep", value: .required("REV"), help: "the version that stays; its first characters are enough"),
            OptionSpec(
                "file", short: "f", value: .required("FILE"), help: "the merged version; - for the standard input"),
            OptionSpec("json", help: "print the answer as JSON"),
        ],
        details: [
            "All versions are looked at, and then the others get a deletion and the one that stays, or the merged one, is what every node shows. If a version has come in between, it stays in conflict, since you have not seen it.",
            "With --file the merged version follows the one that is shown now, or the one that --keep names.",
        ],
        examples: [
            CommandExample("kith conflicts resolve notes/list:1 --keep 7-a91c", "keeps that version"),
            CommandExample("kith conflicts resolve notes/list:1 -f merged.json", "writes a merged one"),
        ])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let address = try DocumentAddress(arguments)
        guard arguments.value("keep") != nil || arguments.value("file") != nil else {
            throw UsageError("say which version stays, with --keep REV, or what is merged, with --file FILE")
        }
        let shown = try Explanation.about(address.database, address.document) {
            try context.node.json(NodeRequest("GET", address.path, query: [("conflicts", "true")]))
        }
        let versions =
            [shown["_rev"]?.stringValue ?? ""] + (shown["_conflicts"]?.arrayValue?.compactMap(\.stringValue) ?? [])
        guard versions.count > 1 else {
            throw KithError(.conflict, "\(address.shown) is not in conflict")
        }
        let kept = try arguments.value("keep").map { try version($0, among: versions) } ?? versions[0]
        var members: [(String, JSONValue)] = [
            ("id", .string(address.document)), ("keep", .string(kept)),
            ("drop", .array(versions.filter { $0 != kept }.map { .string($0) })),
        ]
        if let file = arguments.value("file") {
            let text = try InputFile(path: file).readAll(bytesMax: CommandLimits.documentBytesMax)
            members.append(("doc", try JSONValue(parsing: text)))
        }
        let request = NodeRequest(
            "POST", [address.database, "_conflicts"], body: JSONValue.object(JSONObject(members)).canonicalBytes())
        let answer = try Explanation.about(address.database, address.document) { try context.node.json(request) }
        if arguments.has("json") {
            try context.console.print(answer.canonicalText())
        } else {
            try context.console.print("\(address.shown)  \(answer["rev"]?.stringValue ?? "")  resolved")
        }
        return ExitStatus.success
    }

    private static func version(_ text: String, among versions: [String]) throws -> String {
        let found = versions.filter { $0.utf8.starts(with: text.utf8) }
        guard let version = found.first else {
            throw KithError(
                .notFound, "\(DisplayText.safe(text)) is none of the versions in conflict",
                remedy: "They are: \(versions.joined(separator: ", "))")
        }
        guard found.count == 1 else {
            throw KithError(
                .badRequest, "\(DisplayText.safe(text)) fits more than one version",
                remedy: "Type more of it: \(found.joined(separator: ", "))")
        }
        return version
    }
}
