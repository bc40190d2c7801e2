import KithDocuments

/// A collection and how far its sequences have come.
struct CollectionPlace: Sendable {
    let name: CollectionName
    let number: Int
    let lastSequence: UInt64
}

extension SQLiteConnection {
    /// How far all collections have come, if another connection has committed since this was last asked; nil if none has.
    ///
    /// Only for the writer's connection, outside a transaction.
    func placesAfterOthers() throws -> [CollectionPlace]? {
        let version = try with(.dataVersion) { try $0.step() ? $0.int(0) : 0 }
        if version == dataVersionSeen { return nil }
        let places = try with(.places) { statement in
            var places: [CollectionPlace] = []
            while try statement.step() {
                places.append(
                    CollectionPlace(
                        name: try CollectionName(statement.text(1)), number: statement.int(0),
                        lastSequence: statement.uint(2)))
            }
            return places
        }
        // Asked before the places were read: what came between is looked at once more.
        dataVersionSeen = version
        return places
    }
}
