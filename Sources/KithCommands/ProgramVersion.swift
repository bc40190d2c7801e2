import KithNode

/// The version of the program, which is the node's.
enum ProgramVersion {
    static let text = Node.version
}
