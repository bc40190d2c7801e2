import CZlib

/// One end of a BLIP 3 connection: whole messages in and out on one side, frames on the other (blip.md).
///
/// The machine does no I/O and knows no time. Give every binary WebSocket message to ``receive(_:)``; whenever the
/// socket has room, take frames with ``appendNextFrame(to:)`` and send each as one binary WebSocket message, in order.
/// A call of ``receive(_:)`` may make frames due (acknowledgements), so look at ``hasFramesToSend`` after it.
///
/// ```swift
/// connection.send(BLIPOutgoing(properties: ["Profile": "getCheckpoint", "client": "cp-demo"]), tag: 1)
/// for event in try connection.receive(frame) {
///     switch event {
///     case .request(let request): connection.reply(BLIPOutgoing(), to: request.number)
///     case .response(let tag, let message): …
///     case .responsePart: … // only where it was asked for
///     }
/// }
/// ```
///
/// Not `Sendable`: it belongs to one isolation. Memory is bounded by ``BLIPLimits`` on the receiving side and by what
/// the owner queues on the sending side (``queuedBytes``).
public final class BLIPConnection {
    let limits: BLIPLimits

    // Receiving
    var failure: BLIPError?
    var receiveCRC: uLong = 0
    var inflater: BLIPInflater?
    var lastRequestNumber: UInt64 = 0
    var incoming: [BLIPMessageKey: BLIPIncomingMessage] = [:]
    /// The unfinished messages in the order in which they began, while they matter: see `openBytesSoftMax`.
    var incomingOrder: [BLIPMessageKey] = []
    /// Bytes of unfinished incoming messages, and of those handed out and not consumed.
    public internal(set) var openBytes = 0
    var dueAcknowledgements: [BLIPMessageKey] = []
    /// The urgency of each request that waits for our reply.
    var unanswered: [UInt64: Bool] = [:]

    // Sending
    var sendCRC: uLong = 0
    var deflater: BLIPDeflater?
    var plain: [UInt8] = []
    var outbox = BLIPOutbox()
    var paused: [BLIPMessageKey: BLIPOutgoingMessage] = [:]
    /// Messages under way, which acknowledgements may name.
    var unfinished: [BLIPMessageKey: BLIPOutgoingMessage] = [:]
    var lastSentNumber: UInt64 = 0
    /// The tags of requests whose response is awaited.
    var awaited: [UInt64: UInt64] = [:]
    /// Messages with a pulled body that is not handed over as a whole, by the tag of the pull.
    var pulls: [UInt64: BLIPOutgoingMessage] = [:]
    /// Pulls that want a piece and have not said so yet.
    var hungryPulls: [UInt64] = []
    /// Sent requests whose response is handed out as it comes.
    var streamedNumbers: Set<UInt64> = []
    /// The responses being handed out, by the tag of their request.
    var streams: [UInt64: BLIPMessageKey] = [:]

    /// The plain bytes of all messages, or parts of messages, that are not in a frame yet.
    public internal(set) var queuedBytes = 0
    /// Of ``queuedBytes``, those of messages whose body is pulled.
    public internal(set) var queuedPullBytes = 0

    /// Bytes of responses that were handed out and are not consumed.
    public internal(set) var unconsumedBytes = 0

    /// A connection on which nothing has been sent or received.
    public init(limits: BLIPLimits = BLIPLimits()) {
        self.limits = limits
    }

    // MARK: Sending

    /// Queues a request.
    ///
    /// - Parameters:
    ///   - request: the message. It gets its number with its first frame.
    ///   - tag: handed back with the response; without meaning when no reply is wanted.
    ///   - streamsResponse: whether the body of the response is handed out as it comes, in ``BLIPEvent/responsePart(tag:_:)``;
    ///     the owner says with ``consume(_:ofResponseTo:)`` when it is done with bytes. The tag must be unique then.
    public func send(_ request: BLIPOutgoing, tag: UInt64 = 0, streamsResponse: Bool = false) {
        enqueue(
            BLIPOutgoingMessage(
                request, type: BLIPFlags.typeRequest, number: 0, isUrgent: request.isUrgent, tag: tag,
                streamsResponse: streamsResponse))
    }

    /// Queues the reply to a request, as urgent as the request was.
    ///
    /// - Returns: whether it was queued: `false` for a request that wants no reply, or has one, or was never received.
    @discardableResult
    public func reply(_ reply: BLIPOutgoing = BLIPOutgoing(), to number: UInt64) -> Bool {
        answer(reply, type: BLIPFlags.typeResponse, to: number)
    }

    /// Queues an error as the reply to a request.
    ///
    /// Use the domain `HTTP` for every error that a neighbour should understand: others end Couchbase Lite's replicator
    /// (blip.md §11).
    ///
    /// - Returns: as ``reply(_:to:)``.
    @discardableResult
    public func replyError(domain: String = "HTTP", code: Int, message: String = "", to number: UInt64) -> Bool {
        let error = BLIPOutgoing(
            properties: ["Error-Domain": domain, "Error-Code": String(code)], body: Array(message.utf8))
        return answer(error, type: BLIPFlags.typeError, to: number)
    }

    /// Whether ``appendNextFrame(to:)`` would append a frame.
    public var hasFramesToSend: Bool {
        failure == nil && (!dueAcknowledgements.isEmpty || !outbox.isEmpty)
    }

    /// The requests sent or queued whose response has not come.
    public var awaitedResponseCount: Int { awaited.count }

    /// Appends the next frame, at most ``WireLimits/blipBigFrameBytes`` long, for one binary WebSocket message.
    ///
    /// - Returns: whether there was one. Without: nothing is queued, or all that is waits for acknowledgements.
    public func appendNextFrame(to out: inout [UInt8]) -> Bool {
        guard failure == nil else { return false }
        if appendAcknowledgement(to: &out) { return true }
        guard let message = outbox.popFirst() else { return false }
        if !message.hasStarted { start(message) }
        let isSmall = !message.isUrgent && outbox.isNextUrgent
        let queuedBefore = message.availableByteCount
        if message.isCompressed {
            guard appendCompressedFrame(of: message, to: &out, isSmall: isSmall) else { return false }
        } else {
            appendPlainFrame(of: message, to: &out, isSmall: isSmall)
        }
        countQueued(message.availableByteCount - queuedBefore, of: message)
        if message.remainingByteCount == 0 {
            if !unfinished.isEmpty { unfinished[message.key] = nil }
        } else {
            unfinished[message.key] = message
            requeue(message)
        }
        return true
    }

    /// Ends the connection: drops everything queued and half received.
    ///
    /// - Returns: the tags of the requests that will never have a response.
    public func abandon() -> [UInt64] {
        var tags = Array(awaited.values)
        for message in outbox.removeAll()
        where !message.hasStarted && message.type == BLIPFlags.typeRequest && !message.isNoReply {
            tags.append(message.tag)
        }
        awaited = [:]
        paused = [:]
        unfinished = [:]
        pulls = [:]
        hungryPulls = []
        streamedNumbers = []
        streams = [:]
        incoming = [:]
        incomingOrder = []
        dueAcknowledgements = []
        unanswered = [:]
        queuedBytes = 0
        queuedPullBytes = 0
        openBytes = 0
        unconsumedBytes = 0
        if failure == nil { failure = .abandoned }
        return tags
    }

    private func answer(_ reply: BLIPOutgoing, type: UInt64, to number: UInt64) -> Bool {
        guard let isUrgent = unanswered.removeValue(forKey: number) else { return false }
        enqueue(BLIPOutgoingMessage(reply, type: type, number: number, isUrgent: isUrgent, tag: 0))
        return true
    }

    func enqueue(_ message: BLIPOutgoingMessage) {
        countQueued(message.availableByteCount, of: message)
        outbox.insert(message)
    }

    func countQueued(_ change: Int, of message: BLIPOutgoingMessage) {
        queuedBytes += change
        if message.pullTag != nil { queuedPullBytes += change }
    }

    private func start(_ message: BLIPOutgoingMessage) {
        message.hasStarted = true
        guard message.type == BLIPFlags.typeRequest else { return }
        lastSentNumber += 1
        message.number = lastSentNumber
        guard !message.isNoReply else { return }
        awaited[lastSentNumber] = message.tag
        if message.streamsResponse { streamedNumbers.insert(lastSentNumber) }
    }

    private func appendAcknowledgement(to out: inout [UInt8]) -> Bool {
        guard !dueAcknowledgements.isEmpty else { return false }
        let key = dueAcknowledgements.removeFirst()
        guard let message = incoming[key] else { return false }
        message.isAcknowledgementDue = false
        let type = key.isResponse ? BLIPFlags.typeResponseACK : BLIPFlags.typeRequestACK
        Varint.append(key.number, to: &out)
        Varint.append(type | BLIPFlags.urgent | BLIPFlags.noReply, to: &out)
        Varint.append(message.acknowledgeableBytes, to: &out)
        return true
    }

    /// Appends number and flags, and returns where the flags byte is.
    private func appendHeader(of message: BLIPOutgoingMessage, to out: inout [UInt8]) -> Int {
        Varint.append(message.number, to: &out)
        var flags = message.type
        if message.isCompressed { flags |= BLIPFlags.compressed }
        if message.isUrgent { flags |= BLIPFlags.urgent }
        if message.isNoReply { flags |= BLIPFlags.noReply }
        out.append(UInt8(truncatingIfNeeded: flags))
        return out.count - 1
    }

    private func frameBytes(isSmall: Bool) -> Int {
        isSmall ? WireLimits.blipSmallFrameBytes : WireLimits.blipBigFrameBytes
    }

    private func appendPlainFrame(of message: BLIPOutgoingMessage, to out: inout [UInt8], isSmall: Bool) {
        let start = out.count
        let flagsIndex = appendHeader(of: message, to: &out)
        let payloadStart = out.count
        let room = frameBytes(isSmall: isSmall) - (payloadStart - start) - 4
        message.appendNext(min(room, message.availableByteCount), to: &out)
        sendCRC = out.withUnsafeBytes { crc32(sendCRC, UnsafeRawBufferPointer(rebasing: $0[payloadStart...])) }
        finishFrame(of: message, to: &out, flagsIndex: flagsIndex, payloadStart: payloadStart)
    }

    private func appendCompressedFrame(
        of message: BLIPOutgoingMessage, to out: inout [UInt8], isSmall: Bool
    ) -> Bool {
        let deflater: BLIPDeflater
        do throws(BLIPError) {
            deflater = try readyDeflater()
        } catch {
            failure = error
            return false
        }
        let start = out.count
        let flagsIndex = appendHeader(of: message, to: &out)
        let payloadStart = out.count
        // The 4 bytes of trailer that are cut off make room for the checksum.
        let end = start + frameBytes(isSmall: isSmall)
        var plainBytes = 0
        repeat {
            let step = min(
                BLIPDeflater.inputBytes(fittingIn: end - out.count), message.availableByteCount,
                WireLimits.blipPlainBytesPerFrameMax - plainBytes)
            plain.removeAll(keepingCapacity: true)
            message.appendNext(step, to: &plain)
            plain.withUnsafeBytes { bytes in
                sendCRC = crc32(sendCRC, bytes)
                deflater.deflate(bytes, to: &out)
            }
            plainBytes += step
        } while message.availableByteCount > 0 && plainBytes < WireLimits.blipPlainBytesPerFrameMax
            && end - out.count >= WireLimits.blipCompressedFrameRoomBytesMin
        out.removeLast(4)
        finishFrame(of: message, to: &out, flagsIndex: flagsIndex, payloadStart: payloadStart)
        return true
    }

    /// Made at the first compressed frame: a connection that does not compress costs no 256 KiB.
    private func readyDeflater() throws(BLIPError) -> BLIPDeflater {
        if let deflater { return deflater }
        let new = try BLIPDeflater(level: limits.compressionLevel)
        deflater = new
        return new
    }

    func readyInflater() throws(BLIPError) -> BLIPInflater {
        if let inflater { return inflater }
        let new = try BLIPInflater()
        inflater = new
        return new
    }

    private func finishFrame(
        of message: BLIPOutgoingMessage, to out: inout [UInt8], flagsIndex: Int, payloadStart: Int
    ) {
        let checksum = UInt32(truncatingIfNeeded: sendCRC)
        out.append(UInt8(truncatingIfNeeded: checksum >> 24))
        out.append(UInt8(truncatingIfNeeded: checksum >> 16))
        out.append(UInt8(truncatingIfNeeded: checksum >> 8))
        out.append(UInt8(truncatingIfNeeded: checksum))
        if message.remainingByteCount > 0 { out[flagsIndex] |= UInt8(BLIPFlags.moreComing) }
        message.sentBytes += UInt64(out.count - payloadStart)
    }
}

/// zlib's running CRC-32 over a buffer. An empty one leaves it as it is: zlib would take a null pointer as "start anew".
@inline(__always)
func crc32(_ crc: uLong, _ bytes: UnsafeRawBufferPointer) -> uLong {
    guard bytes.count > 0, let base = bytes.baseAddress else { return crc }
    return CZlib.crc32(crc, base.assumingMemoryBound(to: Bytef.self), uInt(bytes.count))
}
