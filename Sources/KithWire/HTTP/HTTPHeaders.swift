/// The header fields of an HTTP message, in order. Names are compared without regard to ASCII case.
public struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One field.
    public struct Field: Sendable, Equatable {
        /// The name as it was written.
        public var name: String
        /// The value without the white space around it.
        public var value: String
    }

    /// All fields in order.
    public private(set) var fields: [Field] = []

    /// No fields.
    public init() {}

    /// The fields in the order given.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The value of the first field of this name. Setting replaces all fields of the name, `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { Self.isSame($0.name, name) }?.value }
        set {
            fields.removeAll { Self.isSame($0.name, name) }
            if let newValue { add(name, newValue) }
        }
    }

    /// Appends a field, also when one of this name is there.
    public mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The values of all fields of this name.
    public func values(of name: String) -> [String] {
        fields.lazy.filter { Self.isSame($0.name, name) }.map(\.value)
    }

    /// The members of a comma-separated list, over all fields of this name, without white space and empty members
    /// (RFC 9110 §5.6.1).
    public func listMembers(of name: String) -> [String] {
        values(of: name).flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
                var rest = member[...]
                while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
                while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
                return rest.isEmpty ? nil : String(rest)
            }
        }
    }

    /// Whether a list holds a member, without regard to ASCII case.
    public func list(_ name: String, contains member: String) -> Bool {
        listMembers(of: name).contains { Self.isSame($0, member) }
    }

    /// Whether two texts differ at most in ASCII case.
    public static func isSame(_ a: String, _ b: String) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        return zip(a.utf8, b.utf8).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
    }
}
