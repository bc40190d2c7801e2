import KithDocuments

extension Selector {
    /// Reads a selector.
    ///
    /// - Throws: `.badRequest`, naming what is not understood; `.notImplemented` for `$regex` and `$text`.
    init(_ value: JSONValue) throws {
        guard let object = value.objectValue else { throw KithError(.badRequest, "Selector must be a JSON object") }
        var reader = Reader()
        self = try reader.document(object)
    }

    /// The names in a path with dots, of which `\.` is none.
    ///
    /// - Throws: `.badRequest` for one of more than `NodeLimits.selectorPartsMax` names.
    static func path(_ text: String) throws(KithError) -> [String] {
        var names: [[UInt8]] = [[]]
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped {
                if byte != UInt8(ascii: "."), byte != UInt8(ascii: "$") {
                    names[names.count - 1].append(UInt8(ascii: "\\"))
                }
                names[names.count - 1].append(byte)
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: ".") {
                guard names.count < NodeLimits.selectorPartsMax else {
                    throw KithError(
                        .badRequest, "the path of a field has more than \(NodeLimits.selectorPartsMax) names")
                }
                names.append([])
            } else {
                names[names.count - 1].append(byte)
            }
        }
        if isEscaped { names[names.count - 1].append(UInt8(ascii: "\\")) }
        return names.map { String(decoding: $0, as: UTF8.self) }
    }

    private struct Reader {
        private var parts = 0

        private mutating func count(_ more: Int = 1) throws(KithError) {
            parts += more
            guard parts <= NodeLimits.selectorPartsMax else {
                throw KithError(.badRequest, "a selector has more than \(NodeLimits.selectorPartsMax) parts")
            }
        }

        /// Members of which each is a combination or a field.
        mutating func document(_ object: JSONObject) throws -> Selector {
            var all: [Selector] = []
            for (name, value) in object {
                try count()
                if name.hasPrefix("$") {
                    all.append(try condition(name, value))
                } else {
                    guard !name.isEmpty else {
                        throw KithError(.badRequest, "One or more conditions is missing a field name")
                    }
                    let path = try Selector.path(name)
                    try count(path.count - 1)
                    all.append(.field(path, try field(value)))
                }
            }
            return .all(all)
        }

        /// What a field must be: conditions, fields within it, or a value that it equals.
        private mutating func field(_ value: JSONValue) throws -> Selector {
            guard let object = value.objectValue, !object.isEmpty else { return .comparison(.equal, value) }
            return try document(object)
        }

        private mutating func list(_ name: String, _ value: JSONValue) throws -> [Selector] {
            guard let items = value.arrayValue else { throw wrong(name, "a list") }
            return try items.map { item in
                try count()
                return try field(item)
            }
        }

        private mutating func condition(_ name: String, _ value: JSONValue) throws -> Selector {
            if let comparison = Comparison(rawValue: name) { return .comparison(comparison, value) }
            switch name {
            case "$and": return .all(try list(name, value))
            case "$or": return .any(try list(name, value))
            case "$nor": return .not(.any(try list(name, value)))
            case "$not": return .not(try field(value))
            case "$exists":
                guard let flag = value.boolValue else { throw wrong(name, "true or false") }
                return .exists(flag)
            case "$type":
                guard let type = value.stringValue, JSONCollation.typeNames.contains(type) else {
                    throw wrong(name, "one of \(JSONCollation.typeNames.joined(separator: ", "))")
                }
                return .type(type)
            case "$in", "$nin", "$all":
                guard let values = value.arrayValue else { throw wrong(name, "a list") }
                try count(values.count)
                return name == "$all" ? .containsAll(values) : name == "$in" ? .among(values) : .not(.among(values))
            case "$size":
                guard let size = value.intValue else { throw wrong(name, "a whole number") }
                return .size(size)
            case "$mod":
                guard let numbers = value.arrayValue, numbers.count == 2, let divisor = numbers[0].int64Value,
                    divisor != 0, let remainder = numbers[1].int64Value
                else { throw wrong(name, "a divisor that is not 0, and a remainder") }
                return .remainder(divisor: divisor, remainder)
            case "$beginsWith":
                guard let prefix = value.stringValue else { throw wrong(name, "a text") }
                return .begins(prefix)
            case "$elemMatch": return .someElement(try field(value))
            case "$allMatch": return .everyElement(try field(value))
            case "$keyMapMatch": return .someKey(try field(value))
            case "$regex", "$text": throw CouchDBError.notServed("\(name) is not served here", "Use $beginsWith")
            default: throw KithError(.badRequest, "Invalid operator: \(name.prefix(100))")
            }
        }

        private func wrong(_ name: String, _ what: String) -> KithError {
            KithError(.badRequest, "Bad argument for operator \(name): it must be \(what)")
        }
    }
}
