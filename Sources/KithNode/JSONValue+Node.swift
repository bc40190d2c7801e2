import KithDocuments

extension JSONValue {
    /// An object of these members, in this order.
    init(object members: [(String, JSONValue)]) { self = .object(JSONObject(members)) }
    /// A text, or `null`.
    init(optional text: String?) { self = text.map { .string($0) } ?? .null }
    /// A number, or `null`.
    init(optional number: Int?) { self = number.map { JSONValue($0) } ?? .null }
    /// A time in UTC, or `null`.
    init(time seconds: Int64?) { self = seconds.map { .string(WallClock.text($0)) } ?? .null }
}
