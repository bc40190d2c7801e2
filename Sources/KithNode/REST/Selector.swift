import KithDocuments
import KithStore

/// A condition on documents in the language of CouchDB's selectors, evaluated on one document after the other.
///
/// Texts are compared by their bytes, where CouchDB goes by the rules of Unicode. A field that is not there meets no
/// condition but `$exists: false`, also under `$not`.
indirect enum Selector: Sendable {
    case all([Selector])
    case any([Selector])
    case not(Selector)
    /// The value at a path.
    case field([String], Selector)
    case exists(Bool)
    case comparison(Comparison, JSONValue)
    case type(String)
    case among([JSONValue])
    case containsAll([JSONValue])
    case size(Int)
    case remainder(divisor: Int64, Int64)
    case begins(String)
    case someElement(Selector)
    case everyElement(Selector)
    case someKey(Selector)

    enum Comparison: String, Sendable {
        case less = "$lt"
        case lessOrEqual = "$lte"
        case equal = "$eq"
        case notEqual = "$ne"
        case greaterOrEqual = "$gte"
        case greater = "$gt"

        func holds(_ order: Int) -> Bool {
            switch self {
            case .less: order < 0
            case .lessOrEqual: order <= 0
            case .equal: order == 0
            case .notEqual: order != 0
            case .greaterOrEqual: order >= 0
            case .greater: order > 0
            }
        }
    }

    /// Whether a document meets the condition.
    func matches(_ document: StoredDocument) -> Bool {
        var value = JSONValue(canonical: document.body)
        value["_id"] = .string(document.id.text)
        value["_rev"] = .string(document.revision.description)
        if document.isDeleted { value["_deleted"] = true }
        return matches(value)
    }

    /// Whether a value meets the condition; nil is one that is not there.
    func matches(_ value: JSONValue?, isNegated: Bool = false) -> Bool {
        switch self {
        case .all(let parts):
            return isNegated
                ? parts.contains { $0.matches(value, isNegated: true) } : parts.allSatisfy { $0.matches(value) }
        case .any(let parts):
            return isNegated
                ? parts.allSatisfy { $0.matches(value, isNegated: true) } : parts.contains { $0.matches(value) }
        case .not(let part): return part.matches(value, isNegated: !isNegated)
        case .field(let path, let part): return part.matches(Self.value(at: path, of: value), isNegated: isNegated)
        case .exists(let exists): return (value != nil) == (exists != isNegated)
        default:
            guard let value else { return false }
            return holds(value) != isNegated
        }
    }

    private func holds(_ value: JSONValue) -> Bool {
        switch self {
        case .comparison(let comparison, let other): comparison.holds(JSONCollation.order(value, other))
        case .type(let name): JSONCollation.typeName(value) == name
        case .among(let values):
            // One of an array is enough, as in CouchDB.
            values.contains { $0 == value } || (value.arrayValue?.contains { values.contains($0) } ?? false)
        case .containsAll(let values):
            value.arrayValue.map { elements in values.allSatisfy { elements.contains($0) } } ?? false
        case .size(let size): value.arrayValue?.count == size
        case .remainder(let divisor, let remainder):
            value.int64Value.map { $0.remainderReportingOverflow(dividingBy: divisor).partialValue == remainder }
                ?? false
        case .begins(let prefix): value.stringValue?.utf8.starts(with: prefix.utf8) ?? false
        case .someElement(let part): value.arrayValue?.contains { part.matches($0) } ?? false
        case .everyElement(let part):
            value.arrayValue.map { !$0.isEmpty && $0.allSatisfy { part.matches($0) } } ?? false
        case .someKey(let part): value.objectValue?.contains { part.matches(.string($0.name)) } ?? false
        case .all, .any, .not, .field, .exists: matches(value)
        }
    }

    /// The value at a path: members of objects, and elements of arrays by their numbers.
    static func value(at path: [String], of value: JSONValue?) -> JSONValue? {
        var value = value
        for name in path {
            guard let here = value else { return nil }
            value = here[name] ?? Int(name).flatMap { here[$0] }
        }
        return value
    }
}
