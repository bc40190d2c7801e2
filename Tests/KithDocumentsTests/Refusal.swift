import KithDocuments
import Testing

/// Expects that the body throws a `KithError` with this code.
func expectRefusal(
    _ code: ErrorCode, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> some Any
) {
    do {
        _ = try body()
        Issue.record("nothing was thrown", sourceLocation: sourceLocation)
    } catch {
        #expect((error as? KithError)?.code == code, "\(error)", sourceLocation: sourceLocation)
    }
}
