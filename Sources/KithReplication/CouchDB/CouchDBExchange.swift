import KithDocuments
import KithWire

/// A request under way.
final class CouchDBExchange {
    let number: UInt64
    let request: CouchDBRequest
    /// Bytes of the answer at most, where it is collected.
    let bodyMax: Int
    var status = 0
    var headers = HTTPHeaders()
    var body: [UInt8] = []
    /// When something was heard or sent last, in monotonic seconds.
    var heardSeconds: Double
    /// Called when the head has come.
    var onHead: (() -> Void)?
    /// Gets the bytes of the answer in place of collecting them; whoever has them says when they are consumed.
    var onBytes: (([UInt8]) -> Void)?
    /// Gets why an answer was cut off, in place of the end of the session.
    var onCut: ((KithError) -> Void)?
    /// Called when the next bytes of the request's body are wanted.
    var onWanted: (() -> Void)?
    /// Gets the whole answer.
    private(set) var onAnswer: ((CouchDBAnswer) -> Void)?
    /// How long nothing may be heard of it, in seconds.
    let silenceSecondsMax: Double

    init(
        number: UInt64, request: CouchDBRequest, bodyMax: Int, heardSeconds: Double, silenceSecondsMax: Double,
        onAnswer: @escaping (CouchDBAnswer) -> Void
    ) {
        self.number = number
        self.request = request
        self.bodyMax = bodyMax
        self.heardSeconds = heardSeconds
        self.silenceSecondsMax = silenceSecondsMax
        self.onAnswer = onAnswer
    }

    /// When it is given up for its silence, in monotonic seconds.
    var silentSeconds: Double { heardSeconds + silenceSecondsMax }

    /// Lets go of who listens: they hold it as well.
    func forget() { (onHead, onBytes, onCut, onWanted, onAnswer) = (nil, nil, nil, nil, nil) }

    func answer(isTooLong: Bool = false) -> CouchDBAnswer {
        CouchDBAnswer(request: request, status: status, headers: headers, body: body, isTooLong: isTooLong)
    }
}
