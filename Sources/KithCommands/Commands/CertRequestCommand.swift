import KithDocuments

/// `kith cert request`
enum CertRequestCommand: Command {
    static let spec = CommandSpec(
        "cert request", summary: "print what a site's authority is to sign",
        details: [
            "The request holds the public key and the node's name. The key itself never leaves the machine. The authority's answer is put in place with kith cert install."
        ],
        examples: [CommandExample("kith cert request > laptop.csr", "for the operator of the authority")])

    static func run(_ arguments: ParsedArguments, _ context: CommandContext) throws -> Int32 {
        let text = try context.homes.open(context.homePath).certificateRequest()
        try context.console.print(String(decoding: text, as: UTF8.self).trimmingSuffix { $0 == "\n" })
        return ExitStatus.success
    }
}

extension String {
    /// Without what its end has of some characters.
    fileprivate func trimmingSuffix(_ isUnwanted: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, isUnwanted(last) { text.removeLast() }
        return String(text)
    }
}
