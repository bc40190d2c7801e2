/// Which parts of the status are asked for.
struct StatusSelection: Equatable, Sendable {
    var showsDatabases = true
    var showsPeers = true
    var showsOthers = true
    var showsProblems = true
    var isVerbose = false

    static let everything = StatusSelection()
}
