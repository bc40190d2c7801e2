import KithDocuments

/// The errors of talking to the node, in one place so that every command says them in the same words.
enum ConnectionFailure {
    static func noNode(_ path: String, isStale: Bool, hint: String) -> KithError {
        KithError(
            .noNode,
            "no node is running here" + (isStale ? " (its socket \(DisplayText.safe(path)) is left over)" : ""),
            remedy: hint)
    }

    static func noPermission(_ path: String) -> KithError {
        KithError(
            .nodeUnreachable, "the node's socket \(DisplayText.safe(path)) may not be opened: permission denied",
            remedy: "Run the command as the user who runs the node, or name another home with --home")
    }

    static func noAnswer(afterMilliseconds milliseconds: Int) -> KithError {
        KithError(
            .nodeUnreachable, "the node did not answer within \(Quantity.seconds(milliseconds: milliseconds))",
            remedy: "It may be busy or stopped: try again, or with a longer --timeout, or look at its log")
    }

    static func wentAway() -> KithError {
        KithError(
            .connectionLost, "the node ended in the middle of its answer",
            remedy: "Look whether it still runs: kith status")
    }

    /// A feed came to its end, which only the end of the node brings.
    static func ended() -> KithError {
        KithError(.connectionLost, "the node has ended", remedy: "Start it again with: kith up")
    }

    static func garbage(_ detail: String) -> KithError {
        KithError(
            .protocolViolation, "what answers on the node's socket does not speak HTTP as a Kith node does (\(detail))",
            remedy: "Look which program listens there, or whether another version of Kith runs")
    }
}
