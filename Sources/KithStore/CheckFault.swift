import KithDocuments

/// One thing that a check found wrong.
public struct CheckFault: Sendable, Equatable, CustomStringConvertible {
    /// The collection that it is in; nil when it concerns the file or what all collections share.
    public let collection: CollectionName?
    /// The ID of the document, as far as it can be read: a damaged one need not be legal. Nil when it is about no document.
    public let document: String?
    /// What is wrong, in one sentence without a full stop; without content of documents.
    public let problem: String

    /// A fault that was found otherwise than by a check of the store.
    public init(collection: CollectionName?, document: String?, problem: String) {
        self.collection = collection
        self.document = document
        self.problem = problem
    }

    /// Where and what.
    public var description: String {
        var place = document.map { "document \($0)" } ?? ""
        if let collection, collection != .default {
            place += (place.isEmpty ? "" : " ") + "in collection \(collection)"
        }
        return place.isEmpty ? problem : "\(place): \(problem)"
    }
}
