/// A JSON value as a tree, for small messages: checkpoints, lists of changes, status, configuration.
///
/// Documents on their way through the node are never made into a tree; see `CanonicalJSON`. Two values are equal when
/// their canonical forms are: strings and keys by their bytes, numbers by the rule of the canonical form.
public enum JSONValue: Sendable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number written without point and exponent that fits 64 bits with sign.
    case integer(Int64)
    /// An integer beyond 64 bits with sign: its exact digits, with `-` before a negative one.
    case largeInteger(String)
    /// Any other number. Infinity and NaN are not JSON: they are written as `null`.
    case double(Double)
    /// A string, which may hold NUL.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

extension JSONValue: Equatable {
    /// Whether both have the same canonical form.
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.integer(let x), .integer(let y)): x == y
        case (.largeInteger(let x), .largeInteger(let y)): ByteText.equal(x, y)
        case (.double(let x), .double(let y)): x == y || !x.isFinite && !y.isFinite
        case (.double(let x), .integer(let y)), (.integer(let y), .double(let x)):
            Self.exactInt64(x) == y && y.magnitude < NumberText.exactIntegersEnd
        case (.double(let x), .null), (.null, .double(let x)): !x.isFinite
        case (.string(let x), .string(let y)): ByteText.equal(x, y)
        case (.array(let x), .array(let y)): x == y
        case (.object(let x), .object(let y)): x == y
        default: false
        }
    }
}

// What the value is, or nil when it is something else.
extension JSONValue {
    /// Whether this is `null`.
    public var isNull: Bool { if case .null = self { true } else { false } }
    /// The truth value.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The string.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The elements.
    public var arrayValue: [JSONValue]? { if case .array(let value) = self { value } else { nil } }
    /// The members.
    public var objectValue: JSONObject? { if case .object(let value) = self { value } else { nil } }

    /// The number, when it is an integer that fits.
    public var int64Value: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Self.exactInt64(value)
        default: nil
        }
    }

    /// Without `Int64(exactly:)`, which needs `trunc` of libm: this room links with nothing.
    private static func exactInt64(_ value: Double) -> Int64? {
        guard value.magnitude < 0x1p63 else { return nil }
        let integer = Int64(value)
        return Double(integer) == value ? integer : nil
    }

    /// The number, when it is an integer that fits.
    public var intValue: Int? { int64Value.flatMap { Int(exactly: $0) } }

    /// The number, when it is an integer that fits and not negative.
    public var uint64Value: UInt64? {
        switch self {
        case .integer(let value): UInt64(exactly: value)
        case .largeInteger(let digits): UInt64(digits)
        case .double(let value): Self.exactInt64(value).flatMap { UInt64(exactly: $0) }
        default: nil
        }
    }

    /// The number, rounded when it is an integer beyond 2^53; `nil` when it is beyond the largest double.
    public var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .largeInteger(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
        case .double(let value): value
        default: nil
        }
    }

    /// The member of this name, or `nil`; also when this is not an object. Setting makes any other value an object, and
    /// setting `nil` removes the member.
    public subscript(name: String) -> JSONValue? {
        get { objectValue?[name] }
        set {
            var object = objectValue ?? JSONObject()
            self = .null
            object[name] = newValue
            self = .object(object)
        }
    }

    /// The element at this place, or `nil`; also when this is not an array.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// An integer of any type.
    public init(_ integer: some BinaryInteger) {
        if let small = Int64(exactly: integer) {
            self = .integer(small)
        } else {
            self = .largeInteger(String(integer))
        }
    }
}

// Where an optional is expected, `nil` is still the optional's: `value["x"] = nil` removes, `value["x"] = .null` sets null.
extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A double.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; the last of several members with one name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
    /// `null`.
    public init(nilLiteral: ()) { self = .null }
}
