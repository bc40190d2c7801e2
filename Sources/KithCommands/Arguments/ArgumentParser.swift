/// Turns the words after a command into options and arguments, as its declaration says.
///
/// `--opt VALUE`, `--opt=VALUE`, `-o VALUE`, `-oVALUE`, switches in one word (`-wv`), options before, between and after
/// arguments, `--` before arguments that begin with a dash, and a lone `-` as an argument. Nothing is abbreviated: a
/// script must not change its meaning when an option is added.
struct ArgumentParser {
    let spec: CommandSpec

    /// Reads the words.
    ///
    /// - Throws: `UsageError`, with the nearest name when an option is not known.
    func parse(_ words: [String]) throws(UsageError) -> ParsedArguments {
        var result = ParsedArguments()
        var index = 0
        var onlyArguments = false
        while index < words.count {
            let word = words[index]
            index += 1
            if onlyArguments || word == "-" || !word.utf8.starts(with: "-".utf8) {
                result.append(positional: word)
            } else if word == "--" {
                onlyArguments = true
            } else if word.utf8.starts(with: "--".utf8) {
                try parseLong(word, words, &index, &result)
            } else {
                try parseShort(word, words, &index, &result)
            }
        }
        if result.has("help") { return result }
        try checkCount(result)
        return result
    }

    private func parseLong(
        _ word: String, _ words: [String], _ index: inout Int, _ result: inout ParsedArguments
    ) throws(UsageError) {
        let body = word.utf8.dropFirst(2)
        let nameEnd = body.firstIndex(of: UInt8(ascii: "=")) ?? body.endIndex
        let name = String(body[..<nameEnd]) ?? ""
        let attached = nameEnd < body.endIndex ? String(body[body.index(after: nameEnd)...]) : nil
        guard let option = spec.allOptions.first(where: { $0.long == name }) else { throw unknown("--" + name) }
        switch option.value {
        case .none:
            if attached != nil { throw UsageError("--\(name) takes no value", hint: helpHint) }
            try add(option, nil, &result)
        case .optional:
            try add(option, attached, &result)
        case .required(let what):
            if let attached {
                try add(option, attached, &result)
            } else {
                try add(option, try next("--" + name, what, words, &index), &result)
            }
        }
    }

    private func parseShort(
        _ word: String, _ words: [String], _ index: inout Int, _ result: inout ParsedArguments
    ) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = spec.allOptions.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
            switch option.value {
            case .none:
                try add(option, nil, &result)
            case .optional:
                let attached = letters.first == "=" ? String(letters.dropFirst()) : nil
                if attached != nil { letters = "" }
                try add(option, attached, &result)
            case .required(let what):
                if letters.isEmpty {
                    try add(option, try next("-\(letter)", what, words, &index), &result)
                } else {
                    try add(option, String(letters.first == "=" ? letters.dropFirst() : letters), &result)
                    letters = ""
                }
            }
        }
    }

    private func add(
        _ option: OptionSpec, _ value: String?, _ result: inout ParsedArguments
    ) throws(UsageError) {
        if !option.isRepeatable, case .required = option.value, result.has(option.long) {
            throw UsageError("--\(option.long) was given twice", hint: helpHint)
        }
        result.append(option: option.long, value: value)
    }

    private func next(
        _ option: String, _ what: String, _ words: [String], _ index: inout Int
    ) throws(UsageError) -> String {
        guard index < words.count else {
            throw UsageError("\(option) needs a value: \(option) \(what)", hint: helpHint)
        }
        index += 1
        return words[index - 1]
    }

    private func checkCount(_ result: ParsedArguments) throws(UsageError) {
        let needed = spec.positionals.count { !$0.isOptional }
        if result.positionals.count < needed {
            let missing = spec.positionals.filter { !$0.isOptional }[result.positionals.count].name
            throw UsageError("\(missing) is missing: \(spec.usage)", hint: helpHint)
        }
        if result.positionals.count > spec.positionals.count {
            let extra = DisplayText.safe(result.positionals[spec.positionals.count])
            throw UsageError("“\(extra)” is one argument too many: \(spec.usage)", hint: helpHint)
        }
    }

    private func unknown(_ option: String) -> UsageError {
        let names = spec.allOptions.map { "--" + $0.long }
        let shown = DisplayText.safe(option)
        guard let near = Suggestion.nearest(to: option, among: names) else {
            return UsageError("there is no option \(shown) here", hint: helpHint)
        }
        return UsageError("there is no option \(shown) here", hint: "Did you mean \(near)? See: kith help \(spec.name)")
    }

    private var helpHint: String { "See: kith help \(spec.name)" }
}
