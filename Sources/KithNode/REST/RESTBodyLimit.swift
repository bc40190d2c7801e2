import KithDocuments

/// How long the body of a request may be.
enum RESTBodyLimit {
    /// - Parameters:
    ///   - isStreamed: whether it is taken as it comes.
    static func bytesMax(_ request: RESTRequest, _ permit: RESTPermit, isStreamed: Bool) -> Int {
        guard !permit.caller.isOwner else {
            return isStreamed ? NodeLimits.streamedBodyBytesMax : NodeLimits.requestBodyBytesMax
        }
        if permit.isForEverybody || !["PUT", "POST"].contains(request.method) {
            return NodeLimits.strangerBodyBytesMax
        }
        if isStreamed { return NodeLimits.streamedBodyBytesMax }
        return writesDocuments(request.path) ? NodeLimits.networkBodyBytesMax : NodeLimits.questionBodyBytesMax
    }

    private static func writesDocuments(_ path: [String]) -> Bool {
        guard path.count > 1 else { return true }
        guard path[1].hasPrefix("_") else { return true }
        return ["_bulk_docs", "_conflicts", "_local", "_design"].contains {
            path[1] == $0 || path[1].hasPrefix($0 + "/")
        }
    }
}
