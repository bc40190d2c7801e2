/// The members of a JSON object, rising by the UTF-8 bytes of their names; names are compared as bytes.
public struct JSONObject: Sendable {
    /// A member.
    public typealias Element = (name: String, value: JSONValue)

    private var members: [Element]

    /// An object without members.
    public init() {
        members = []
    }

    /// An object of these members in any order; the last of several with one name counts.
    public init(_ elements: some Sequence<(String, JSONValue)>) {
        members = []
        for (name, value) in elements { self[name] = value }
    }

    /// Members that are in order and have different names.
    init(sorted members: [Element]) {
        self.members = members
    }

    /// The value of the member of this name, or `nil`. Setting `nil` removes the member; JSON's null is `.null`.
    public subscript(name: String) -> JSONValue? {
        get {
            let (place, isThere) = find(name)
            guard isThere else { return nil }
            return members[place].value
        }
        set {
            let (place, isThere) = find(name)
            if let newValue {
                if isThere { members[place].value = newValue } else { members.insert((name, newValue), at: place) }
            } else if isThere {
                members.remove(at: place)
            }
        }
    }

    /// The names in order.
    public var names: [String] { members.map(\.name) }

    private func find(_ name: String) -> (place: Int, isThere: Bool) {
        var low = 0
        var high = members.count
        if let last = members.last, ByteText.compare(last.name, name) < 0 { return (high, false) }
        while low < high {
            let middle = (low + high) >> 1
            let order = ByteText.compare(members[middle].name, name)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }
}

extension JSONObject: RandomAccessCollection {
    /// Place of the first member.
    public var startIndex: Int { 0 }
    /// Place behind the last member.
    public var endIndex: Int { members.count }
    /// The member at a place.
    public subscript(position: Int) -> Element { members[position] }
}

extension JSONObject: Equatable, ExpressibleByDictionaryLiteral {
    /// Whether both have the same names, as bytes, and equal values.
    public static func == (a: JSONObject, b: JSONObject) -> Bool {
        a.count == b.count
            && zip(a.members, b.members).allSatisfy { ByteText.equal($0.name, $1.name) && $0.value == $1.value }
    }

    /// An object of these members; the last of several with one name counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }
}
