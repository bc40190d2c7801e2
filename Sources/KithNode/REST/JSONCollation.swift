import KithDocuments

/// The order of JSON values in CouchDB: null, false, true, numbers, texts, arrays, objects; texts by their bytes.
enum JSONCollation {
    static let typeNames = ["null", "boolean", "number", "string", "array", "object"]

    static func typeName(_ value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .integer, .largeInteger, .double: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// Negative, zero or positive as `a` comes before, with or after `b`.
    static func order(_ a: JSONValue, _ b: JSONValue) -> Int {
        switch (a, b) {
        case (.bool(let x), .bool(let y)): return (x ? 1 : 0) - (y ? 1 : 0)
        case (.string(let x), .string(let y)): return order(x, y)
        case (.array(let x), .array(let y)):
            for (left, right) in zip(x, y) {
                let order = order(left, right)
                if order != 0 { return order }
            }
            return x.count - y.count
        case (.object(let x), .object(let y)):
            for (left, right) in zip(x, y) {
                let names = order(left.name, right.name)
                if names != 0 { return names }
                let values = order(left.value, right.value)
                if values != 0 { return values }
            }
            return x.count - y.count
        default:
            let ranks = (rank(a), rank(b))
            guard ranks.0 == ranks.1 else { return ranks.0 - ranks.1 }
            return ranks.0 == numberRank ? numberOrder(a, b) : 0
        }
    }

    private static let numberRank = 2

    private static func rank(_ value: JSONValue) -> Int {
        switch value {
        case .null: 0
        case .bool: 1
        case .integer, .largeInteger, .double: numberRank
        case .string: 3
        case .array: 4
        case .object: 5
        }
    }

    private static func order(_ a: String, _ b: String) -> Int {
        if a.utf8.elementsEqual(b.utf8) { return 0 }
        return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    }

    private static func numberOrder(_ a: JSONValue, _ b: JSONValue) -> Int {
        if a == b { return 0 }
        if let x = a.int64Value, let y = b.int64Value { return x < y ? -1 : 1 }
        if case .largeInteger(let x) = a, case .largeInteger(let y) = b { return largeOrder(x, y) }
        let (x, y) = (double(a), double(b))
        return x == y ? 0 : x < y ? -1 : 1
    }

    /// A number beyond every double is as good as infinite here.
    private static func double(_ value: JSONValue) -> Double {
        if let double = value.doubleValue { return double }
        if case .largeInteger(let digits) = value, digits.hasPrefix("-") { return -.infinity }
        return .infinity
    }

    private static func largeOrder(_ a: String, _ b: String) -> Int {
        let signs = (a.hasPrefix("-"), b.hasPrefix("-"))
        guard signs.0 == signs.1 else { return signs.0 ? -1 : 1 }
        let order = a.utf8.count != b.utf8.count ? a.utf8.count - b.utf8.count : order(a, b)
        return signs.0 ? -order : order
    }
}
