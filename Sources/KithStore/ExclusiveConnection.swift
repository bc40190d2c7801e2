import Glibc
import KithDocuments

/// A connection that is used by one thread at a time: the writer's; for a database in memory also everybody's.
final class ExclusiveConnection: Sendable {
    private struct State: Sendable {
        let connection: SQLiteConnection
        var user: pthread_t?
    }

    private let state: Monitor<State>
    private let databaseName: String

    init(_ connection: SQLiteConnection) {
        databaseName = connection.databaseName
        state = Monitor(State(connection: connection))
    }

    /// Uses the connection once it is free.
    ///
    /// - Throws: `.internal` when this thread uses it already, since it would wait for itself; what `body` throws.
    func use<Result>(_ body: (SQLiteConnection) throws -> Result) throws -> Result {
        let thread = pthread_self()
        let connection: SQLiteConnection = try state.wait { state in
            if let user = state.user {
                guard pthread_equal(user, thread) == 0 else {
                    throw KithError(
                        .internal, "A transaction of database \(databaseName) was begun inside another",
                        remedy: "Use the snapshot or transaction that is at hand")
                }
                return nil
            }
            state.user = thread
            return state.connection
        }
        defer { state.update { $0.user = nil } }
        return try body(connection)
    }
}
