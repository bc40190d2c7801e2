/// Writes what `--help` and `kith help` print.
enum HelpText {
    /// The list of all commands.
    static func overview(_ specs: [CommandSpec]) -> String {
        var text = """
            kith keeps JSON documents on this machine and replicates them with the machines
            it is paired with.

              kith                 how this node is
              kith COMMAND …       one of these:


            """
        let width = (specs.map { $0.name.utf8.count }.max() ?? 0) + 3
        for spec in specs {
            text += "  " + DisplayText.padded(spec.name, to: width) + spec.summary + "\n"
        }
        text += """

            First steps
              kith init            make this machine a node
              kith up              run it
              kith id              the ID to type on another machine: kith trust ID

            kith help COMMAND says more about one. The manual: man kith

            """
        return text
    }

    /// The page of one command.
    static func page(_ spec: CommandSpec) -> String {
        var text = "kith \(spec.name): \(spec.summary)\n\n  \(spec.usage)\n"
        if !spec.positionals.isEmpty {
            text += "\nArguments\n"
            text += rows(spec.positionals.map { ($0.name, $0.help) })
        }
        text += "\nOptions\n"
        text += rows(spec.allOptions.map { ($0.spelling, $0.help) })
        for paragraph in spec.details {
            text += "\n" + DisplayText.wrapped(paragraph, width: 78).joined(separator: "\n") + "\n"
        }
        text += spec.examples.count == 1 ? "\nExample\n" : "\nExamples\n"
        for example in spec.examples {
            text += "  \(example.line)\n      \(example.meaning)\n"
        }
        return text
    }

    private static func rows(_ rows: [(String, String)]) -> String {
        let width = min(28, (rows.map { $0.0.utf8.count }.max() ?? 0) + 3)
        var text = ""
        for (name, help) in rows {
            let lines = DisplayText.wrapped(help, width: 80 - width - 2)
            let fits = name.utf8.count + 2 <= width
            text += "  " + (fits ? DisplayText.padded(name, to: width) + lines[0] : name) + "\n"
            for line in lines.dropFirst(fits ? 1 : 0) {
                text += String(repeating: " ", count: width + 2) + line + "\n"
            }
        }
        return text
    }
}
