import KithDocuments
import KithTransport
import KithWire

/// One request and its answer, whole or as a stream.
@LoopActor
final class RESTExchange {
    private(set) var request: RESTRequest
    /// The body of the request, where it is taken as it comes.
    let body: RESTBody?
    /// Who has asked, and what was found out of it.
    let permit: RESTPermit
    /// Who has asked, and may.
    var caller: RESTCaller { permit.caller }
    /// Whether what is written may be a design document, whatever way its ID comes.
    var mayWriteDesignDocuments: Bool { permit.mayWriteDesignDocuments }
    /// Whether the right to it was taken back: whoever writes for it looks here.
    let revocation = Revocation()
    /// What it holds in memory of what was sent.
    let held: RESTHeldBytes
    /// What the door has said of it.
    let passage: RESTPassage
    /// Where the client is.
    let place: ClientPlace
    private let connection: Connection
    private var keepsAlive: Bool
    private var onFinish: (@LoopActor (_ keepsAlive: Bool) -> Void)?
    private let drained = ChangeSignal()
    private var isStreaming = false
    private var isChunked = false
    /// When something was sent last, as `EventLoop.monotonicNanoseconds`.
    private(set) var lastSentNanoseconds = EventLoop.monotonicNanoseconds
    /// Whether nothing more need be made: the client has gone, or has what it asked for.
    private(set) var isClosed = false
    /// Called when the client has gone, to wake whoever waits on its behalf.
    var onClosed: (() -> Void)?

    init(
        request: RESTRequest, body: RESTBody? = nil, permit: RESTPermit, passage: RESTPassage, place: ClientPlace,
        held: RESTHeldBytes, connection: Connection, keepsAlive: Bool, onFinish: @escaping @LoopActor (Bool) -> Void
    ) {
        self.request = request
        self.body = body
        self.permit = permit
        self.passage = passage
        self.place = place
        self.held = held
        self.connection = connection
        self.keepsAlive = keepsAlive
        self.onFinish = onFinish
    }

    /// - Throws: 403 where the caller may not write a document of this ID.
    func checkWriting(_ id: DocumentID) throws(CouchDBError) {
        try Self.checkWriting(id, mayWriteDesignDocuments)
    }

    nonisolated static func checkWriting(_ id: DocumentID, _ mayWriteDesignDocuments: Bool) throws(CouchDBError) {
        guard !mayWriteDesignDocuments, id.text.utf8.starts(with: "_design/".utf8) else { return }
        throw CouchDBError("forbidden", KithError(.forbidden, "You are not a db or server admin."))
    }

    /// Reads a long body of JSON beside the event loop, which all links share. What is wrong with it is said where it is read.
    func parseLongBody() async {
        guard request.body.count > NodeLimits.parsedOnLoopBytesMax, request.mediaType?.name == "application/json" else {
            return
        }
        let body = request.body
        guard let value = try? await EventLoop.beside({ try JSONValue(parsing: body) }) else { return }
        request.parsedBody = value
        request.body = []
    }

    /// Who answers for long has read the request, and holds nothing of it any more.
    func dropBody() {
        request.body = []
        request.parsedBody = nil
        held.giveAll()
    }

    /// Whether an answer has begun, so that it is too late for another one.
    var hasBegun: Bool { isStreaming || onFinish == nil }

    /// Answers whole.
    func respond(_ answer: HTTPAnswer) {
        guard !isClosed, !hasBegun else { return }
        var answer = answer
        answer.headers += passage.headers
        connection.write(answer.bytes(keepsAlive: keepsAlive, withoutBody: request.method == "HEAD"))
        finish()
    }

    /// Begins an answer that is sent piece by piece. Towards `HEAD` this is all of it.
    ///
    /// - Parameter length: of the body, where it is known.
    func startStream(
        _ status: Int = 200, contentType: String = "application/json", headers: [(name: String, value: String)] = [],
        length: UInt64? = nil
    ) {
        guard !isClosed, !hasBegun else { return }
        isStreaming = true
        isChunked = length == nil && request.minorVersion >= 1
        // A client of HTTP/1.0 knows no chunks: the end of the connection is the end of the body.
        if length == nil, !isChunked { keepsAlive = false }
        connection.write(
            HTTPAnswer.streamHead(
                status, contentType: contentType, headers: headers + passage.headers, length: length,
                isChunked: isChunked, keepsAlive: keepsAlive))
        guard request.method == "HEAD" else { return }
        isClosed = true
        finish()
    }

    /// Sends a part of the stream, and waits while the client reads slowly.
    func send(_ bytes: [UInt8]) async {
        guard !isClosed, !bytes.isEmpty else { return }
        lastSentNanoseconds = EventLoop.monotonicNanoseconds
        if isChunked {
            var chunk: [UInt8] = []
            HTTPChunks.append(bytes, to: &chunk)
            connection.write(chunk)
        } else {
            connection.write(bytes)
        }
        while !isClosed, connection.bufferedByteCount > NodeLimits.linkBufferBytesMax {
            await drained.wait(secondsMax: 3_600)
        }
    }

    /// Ends the stream.
    func endStream() {
        guard !isClosed else { return }
        if isChunked {
            var end: [UInt8] = []
            HTTPChunks.appendEnd(to: &end)
            connection.write(end)
        }
        finish()
    }

    /// The stream cannot be completed: the client must see that it was cut.
    func breakStream() {
        guard !isClosed else { return }
        connection.abort()
    }

    func connectionDrained() { drained.signal() }

    func connectionClosed() {
        isClosed = true
        drained.signal()
        body?.fail(KithError(.connectionLost, "the client went away in the middle of its request"))
        onClosed?()
    }

    private func finish() {
        let onFinish = onFinish
        self.onFinish = nil
        onFinish?(keepsAlive)
    }
}
