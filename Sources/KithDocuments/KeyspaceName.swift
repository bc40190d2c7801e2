/// A collection of a database, as addresses and commands name it: `notes`, `notes.orders`, `notes.shop.orders`.
///
/// The name of the database ends at the first dot, since it has none itself; without one the collection `_default` is meant.
public struct KeyspaceName: Hashable, Sendable, CustomStringConvertible {
    /// The database.
    public let database: DatabaseName
    /// The collection.
    public let collection: CollectionName

    /// A collection of a database.
    public init(_ database: DatabaseName, _ collection: CollectionName = .default) {
        self.database = database
        self.collection = collection
    }

    /// Reads a name.
    ///
    /// - Throws: `bad_name` when the name of the database or of the collection breaks its rule.
    public init(_ text: String) throws(KithError) {
        guard let dot = text.utf8.firstIndex(of: UInt8(ascii: ".")) else {
            self.init(try DatabaseName(text))
            return
        }
        self.init(
            try DatabaseName(String(text[..<dot])), try CollectionName(String(text[text.utf8.index(after: dot)...])))
    }

    /// The name in its one spelling.
    public var text: String { collection == .default ? database.text : database.text + "." + collection.text }

    /// The text, for messages.
    public var description: String { text }
}
