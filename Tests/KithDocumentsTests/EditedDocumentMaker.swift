import KithDocuments

/// Makes random documents, and versions of them as somebody's edits leave them.
struct EditedDocumentMaker {
    var random: SeededGenerator

    mutating func document() -> JSONValue { object(depth: 3) }

    /// The document with some fields changed, added and removed, at any depth.
    mutating func edited(_ value: JSONValue) -> JSONValue {
        guard let object = value.objectValue else { return self.value(depth: 2) }
        var result = object
        for (name, inner) in object {
            switch Int.random(in: 0..<8, using: &random) {
            case 0: result[name] = nil
            case 1: result[name] = self.value(depth: 2)
            case 2, 3: if inner.objectValue != nil { result[name] = edited(inner) }
            default: break
            }
        }
        if random.chance(2) { result[name()] = self.value(depth: 2) }
        return .object(result)
    }

    private mutating func object(depth: Int) -> JSONValue {
        var result = JSONObject()
        for _ in 0..<Int.random(in: 0...6, using: &random) { result[name()] = value(depth: depth - 1) }
        return .object(result)
    }

    private mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
        case 0: .null
        case 1: .bool(random.chance(2))
        // Few values, so that both sides often write the same.
        case 2: .integer(Int64.random(in: 0...2, using: &random))
        case 3: random.chance(2) ? 1.5 : .largeInteger("99999999999999999999")
        case 4: .string(random.pick(["", "a", "\u{E9}", "e\u{301}", "\"}\\", "\0,{"]))
        case 5: random.chance(2) ? [] : [1, ["a": "]"]]
        default: object(depth: depth)
        }
    }

    private mutating func name() -> String {
        random.pick(["", "a", "aa", "b", "\"", "#", "\0", "a\0", "\u{E9}", "e\u{301}", "c", "d"])
    }
}
