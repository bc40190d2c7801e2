/// Runs a node in this process, until it is told to end; tests give another one.
struct NodeRunner: Sendable {
    /// What `kith up` was told.
    struct Options: Sendable, Equatable {
        var port: UInt16?
        var listen: String?
        var administrationPort: UInt16?
        var servesREST = false
        var peers: [String] = []
        var name: String?
        var discovers = true
    }

    /// Starts the node of a home and returns when it has ended; log lines go to the closure.
    let run:
        @Sendable (_ homePath: String, _ options: Options, _ log: @escaping @Sendable (String) -> Void) async throws ->
            Void
}
