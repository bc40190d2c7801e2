import KithDocuments

/// An answer of the node, whole.
struct NodeResponse {
    let status: Int
    let body: [UInt8]

    /// The body as JSON.
    ///
    /// - Throws: `KithError` (protocol_violation) when it is none.
    func json() throws -> JSONValue {
        do {
            return try JSONValue(parsing: body, bytesMax: CommandLimits.answerBytesMax)
        } catch {
            throw ConnectionFailure.garbage("an answer that is not JSON")
        }
    }
}
