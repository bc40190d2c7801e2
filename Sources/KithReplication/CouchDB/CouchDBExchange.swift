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
    /// Gets why it failed, in place of the end of the session, where the one document that it is about has failed too often.
    var onFailed: ((KithError) -> Void)?
    /// Called when the next bytes of the request's body are wanted.
    var onWanted: (() -> Void)?
    /// Gets the whole answer.
    private(set) var onAnswer: ((CouchDBAnswer) -> Void)?
    /// How long nothing may be heard of it, in seconds.
    let silenceSecondsMax: Double
    /// How long it may take in all, in seconds, beside the time for its bytes; `nil` where the server waits for something.
    let wholeSecondsMax: Double?
    private let bytesPerSecondMin: Double
    private let sentSeconds: Double

    init(
        number: UInt64, request: CouchDBRequest, bodyMax: Int, sentSeconds: Double, silenceSecondsMax: Double,
        wholeSecondsMax: Double?, bytesPerSecondMin: Double, onAnswer: @escaping (CouchDBAnswer) -> Void
    ) {
        self.number = number
        self.request = request
        self.bodyMax = bodyMax
        self.sentSeconds = sentSeconds
        heardSeconds = sentSeconds
        self.silenceSecondsMax = silenceSecondsMax
        self.wholeSecondsMax = wholeSecondsMax
        self.bytesPerSecondMin = bytesPerSecondMin
        self.onAnswer = onAnswer
    }

    /// When it is given up, in monotonic seconds: for its silence, or since a collected answer comes at a trickle.
    var silentSeconds: Double {
        let silent = heardSeconds + silenceSecondsMax
        guard let wholeSecondsMax, onBytes == nil else { return silent }
        return min(silent, sentSeconds + wholeSecondsMax + Double(body.count) / bytesPerSecondMin)
    }

    /// Lets go of who listens: they hold it as well.
    func forget() { (onHead, onBytes, onCut, onFailed, onWanted, onAnswer) = (nil, nil, nil, nil, nil, nil) }

    func answer(isTooLong: Bool = false) -> CouchDBAnswer {
        CouchDBAnswer(request: request, status: status, headers: headers, body: body, isTooLong: isTooLong)
    }
}
