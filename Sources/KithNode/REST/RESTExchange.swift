import KithDocuments
import KithTransport
import KithWire

/// One request and its answer, whole or as a stream.
@LoopActor
final class RESTExchange {
    let request: RESTRequest
    private let connection: Connection
    private let keepsAlive: Bool
    private var onFinish: (@LoopActor (_ keepsAlive: Bool) -> Void)?
    private let drained = ChangeSignal()
    private var isStreaming = false
    /// Whether the client has gone: nothing more need be made for it.
    private(set) var isClosed = false
    /// Called when the client has gone, to wake whoever waits on its behalf.
    var onClosed: (() -> Void)?

    init(request: RESTRequest, connection: Connection, keepsAlive: Bool, onFinish: @escaping @LoopActor (Bool) -> Void)
    {
        self.request = request
        self.connection = connection
        self.keepsAlive = keepsAlive
        self.onFinish = onFinish
    }

    /// Answers whole.
    func respond(_ answer: HTTPAnswer) {
        guard !isClosed, !isStreaming else { return }
        connection.write(answer.bytes(keepsAlive: keepsAlive, withoutBody: request.method == "HEAD"))
        finish()
    }

    /// Begins an answer whose length is not known.
    func startStream(contentType: String = "application/json") {
        guard !isClosed else { return }
        isStreaming = true
        connection.write(HTTPAnswer.streamHead(contentType: contentType, keepsAlive: keepsAlive))
    }

    /// Sends a part of the stream, and waits while the client reads slowly.
    func send(_ bytes: [UInt8]) async {
        guard !isClosed, !bytes.isEmpty else { return }
        var chunk: [UInt8] = []
        HTTPChunks.append(bytes, to: &chunk)
        connection.write(chunk)
        while !isClosed, connection.bufferedByteCount > NodeLimits.linkBufferBytesMax {
            await drained.wait(secondsMax: 3_600)
        }
    }

    /// Ends the stream.
    func endStream() {
        guard !isClosed else { return }
        var end: [UInt8] = []
        HTTPChunks.appendEnd(to: &end)
        connection.write(end)
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
        onClosed?()
    }

    private func finish() {
        let onFinish = onFinish
        self.onFinish = nil
        onFinish?(keepsAlive)
    }
}
