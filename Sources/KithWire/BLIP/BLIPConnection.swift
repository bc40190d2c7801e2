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
///     }
/// }
/// ```
///
/// Not `Sendable`: it belongs to one isolation. Memory is bounded by ``BLIPLimits`` on the receiving side and by what
/// the owner queues on the sending side (``queuedBytes``).
public final class BLIPConnection {
    private let limits: BLIPLimits

    // Receiving
    private var failure: BLIPError?
    private var receiveCRC: uLong = 0
    private var inflater: BLIPInflater?
    private var lastRequestNumber: UInt64 = 0
    private var incoming: [BLIPMessageKey: BLIPIncomingMessage] = [:]
    /// The unfinished messages in the order in which they began, while they matter: see `openBytesSoftMax`.
    private var incomingOrder: [BLIPMessageKey] = []
    private var openBytes = 0
    private var dueAcknowledgements: [BLIPMessageKey] = []
    /// The urgency of each request that waits for our reply.
    private var unanswered: [UInt64: Bool] = [:]

    // Sending
    private var sendCRC: uLong = 0
    private var deflater: BLIPDeflater?
    private var plain: [UInt8] = []
    private var outbox = BLIPOutbox()
    private var paused: [BLIPMessageKey: BLIPOutgoingMessage] = [:]
    /// Messages under way, which acknowledgements may name.
    private var unfinished: [BLIPMessageKey: BLIPOutgoingMessage] = [:]
    private var lastSentNumber: UInt64 = 0
    /// The tags of requests whose response is awaited.
    private var awaited: [UInt64: UInt64] = [:]

    /// The plain bytes of all messages, or parts of messages, that are not in a frame yet.
    public private(set) var queuedBytes = 0

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
    public func send(_ request: BLIPOutgoing, tag: UInt64 = 0) {
        enqueue(
            BLIPOutgoingMessage(
                request, type: BLIPFlags.typeRequest, number: 0, isUrgent: request.isUrgent, tag: tag))
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
        let queuedBefore = message.remainingByteCount
        if message.isCompressed {
            guard appendCompressedFrame(of: message, to: &out, isSmall: isSmall) else { return false }
        } else {
            appendPlainFrame(of: message, to: &out, isSmall: isSmall)
        }
        queuedBytes -= queuedBefore - message.remainingByteCount
        if message.remainingByteCount == 0 {
            unfinished[message.key] = nil
        } else {
            unfinished[message.key] = message
            if message.isOverWindow { paused[message.key] = message } else { outbox.insert(message) }
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
        incoming = [:]
        incomingOrder = []
        dueAcknowledgements = []
        unanswered = [:]
        queuedBytes = 0
        openBytes = 0
        if failure == nil { failure = .abandoned }
        return tags
    }

    private func answer(_ reply: BLIPOutgoing, type: UInt64, to number: UInt64) -> Bool {
        guard let isUrgent = unanswered.removeValue(forKey: number) else { return false }
        enqueue(BLIPOutgoingMessage(reply, type: type, number: number, isUrgent: isUrgent, tag: 0))
        return true
    }

    private func enqueue(_ message: BLIPOutgoingMessage) {
        queuedBytes += message.totalByteCount
        outbox.insert(message)
    }

    private func start(_ message: BLIPOutgoingMessage) {
        message.hasStarted = true
        guard message.type == BLIPFlags.typeRequest else { return }
        lastSentNumber += 1
        message.number = lastSentNumber
        if !message.isNoReply { awaited[lastSentNumber] = message.tag }
    }

    private func appendAcknowledgement(to out: inout [UInt8]) -> Bool {
        guard !dueAcknowledgements.isEmpty else { return false }
        let key = dueAcknowledgements.removeFirst()
        guard let message = incoming[key] else { return false }
        message.isAcknowledgementDue = false
        let type = key.isResponse ? BLIPFlags.typeResponseACK : BLIPFlags.typeRequestACK
        Varint.append(key.number, to: &out)
        Varint.append(type | BLIPFlags.urgent | BLIPFlags.noReply, to: &out)
        Varint.append(message.receivedBytes, to: &out)
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
        message.appendNext(min(room, message.remainingByteCount), to: &out)
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
                BLIPDeflater.inputBytes(fittingIn: end - out.count), message.remainingByteCount,
                WireLimits.blipPlainBytesPerFrameMax - plainBytes)
            plain.removeAll(keepingCapacity: true)
            message.appendNext(step, to: &plain)
            plain.withUnsafeBytes { bytes in
                sendCRC = crc32(sendCRC, bytes)
                deflater.deflate(bytes, to: &out)
            }
            plainBytes += step
        } while message.remainingByteCount > 0 && plainBytes < WireLimits.blipPlainBytesPerFrameMax
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

    private func readyInflater() throws(BLIPError) -> BLIPInflater {
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

    // MARK: Receiving

    /// Takes one frame, which is one binary WebSocket message.
    ///
    /// - Returns: the message that the frame completed, if any: at most one.
    /// - Throws: what ended the connection. Every later call throws the same.
    public func receive(_ frame: UnsafeRawBufferPointer) throws(BLIPError) -> [BLIPEvent] {
        if let failure { throw failure }
        do throws(BLIPError) {
            guard let event = try process(frame) else { return [] }
            return [event]
        } catch {
            failure = error
            throw error
        }
    }

    private func process(_ frame: UnsafeRawBufferPointer) throws(BLIPError) -> BLIPEvent? {
        var offset = 0
        guard let number = Varint.read(frame, at: &offset), let bits = Varint.read(frame, at: &offset) else {
            throw .malformedHeader
        }
        let flags = BLIPFlags(bits: bits)
        let rest = UnsafeRawBufferPointer(rebasing: frame[offset...])
        switch flags.type {
        case BLIPFlags.typeRequest:
            return try processRequest(number, flags, rest)
        case BLIPFlags.typeResponse, BLIPFlags.typeError:
            return try processResponse(number, flags, rest)
        case BLIPFlags.typeRequestACK, BLIPFlags.typeResponseACK:
            try processAcknowledgement(number, isResponse: flags.type == BLIPFlags.typeResponseACK, rest)
            return nil
        default:
            // Skipped before the codec, as LiteCore does (blip.md §5.1).
            return nil
        }
    }

    private func processRequest(
        _ number: UInt64, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer
    ) throws(BLIPError) -> BLIPEvent? {
        let key = BLIPMessageKey(number: number, isResponse: false)
        let message: BLIPMessage?
        if !incoming.isEmpty, let open = incoming[key] {
            message = try continueMessage(open, flags, rest)
        } else {
            let (expected, overflow) = lastRequestNumber.addingReportingOverflow(1)
            guard !overflow, number == expected else {
                throw .requestOutOfOrder(expected: expected, got: number)
            }
            lastRequestNumber = number
            message = try beginMessage(key, flags, rest)
        }
        guard let message else { return nil }
        if !message.isNoReply {
            guard unanswered.count < limits.unansweredRequestsMax else {
                throw .tooManyUnansweredRequests(limit: limits.unansweredRequestsMax)
            }
            unanswered[number] = message.isUrgent
        }
        return .request(message)
    }

    private func processResponse(
        _ number: UInt64, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer
    ) throws(BLIPError) -> BLIPEvent? {
        guard let tag = awaited[number] else { throw .unexpectedResponse(number: number) }
        let key = BLIPMessageKey(number: number, isResponse: true)
        let message: BLIPMessage?
        if !incoming.isEmpty, let open = incoming[key] {
            message = try continueMessage(open, flags, rest)
        } else {
            message = try beginMessage(key, flags, rest)
        }
        guard let message else { return nil }
        awaited[number] = nil
        return .response(tag: tag, message)
    }

    private func processAcknowledgement(
        _ number: UInt64, isResponse: Bool, _ rest: UnsafeRawBufferPointer
    ) throws(BLIPError) {
        var offset = 0
        guard let total = Varint.read(rest, at: &offset) else { throw .malformedHeader }
        let key = BLIPMessageKey(number: number, isResponse: isResponse)
        // For an unknown message: it may just have ended. For more than was sent: LiteCore ignores it too.
        guard let message = unfinished[key], total <= message.sentBytes else { return }
        message.acknowledgedBytes = max(message.acknowledgedBytes, total)
        if !message.isOverWindow, paused.removeValue(forKey: key) != nil { outbox.insert(message) }
    }

    /// The first frame of a message: when it is also the last, nothing is kept.
    private func beginMessage(
        _ key: BLIPMessageKey, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer
    ) throws(BLIPError) -> BLIPMessage? {
        guard flags.hasMoreComing || flags.isCompressed else {
            let payload = try verifiedPlainPayload(rest)
            return try wholeMessage(key, flags, payload)
        }
        guard !flags.hasMoreComing || incoming.count < limits.openMessagesMax else {
            throw .tooManyOpenMessages(limit: limits.openMessagesMax)
        }
        var message: BLIPIncomingMessage?
        try decode(flags, rest) { (bytes) throws(BLIPError) in
            if let message {
                message.append(bytes)
                return
            }
            var offset = 0
            let count = try propertyByteCount(bytes, &offset, key)
            let new = BLIPIncomingMessage(
                key: key, flags: flags, propertyByteCount: count, bodyBytesMax: limits.messageBytesMax)
            new.append(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            message = new
        }
        guard let message else { throw .malformedProperties(number: key.number) }
        guard flags.hasMoreComing else { return try message.finish() }
        incoming[key] = message
        incomingOrder.append(key)
        try account(for: message, wireBytes: rest.count, heldBefore: 0)
        return nil
    }

    private func continueMessage(
        _ message: BLIPIncomingMessage, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer
    ) throws(BLIPError) -> BLIPMessage? {
        let heldBefore = message.heldBytes
        try decode(flags, rest) { (bytes) throws(BLIPError) in
            message.append(bytes)
        }
        guard !flags.hasMoreComing else {
            try account(for: message, wireBytes: rest.count, heldBefore: heldBefore)
            return nil
        }
        openBytes -= heldBefore
        incoming[message.key] = nil
        let wasOldest = incomingOrder.first == message.key
        incomingOrder.removeAll { $0 == message.key }
        if message.isAcknowledgementDue { dueAcknowledgements.removeAll { $0 == message.key } }
        releaseAcknowledgements(oldestChanged: wasOldest)
        return try message.finish()
    }

    /// Adds up what an unfinished message holds, and makes its acknowledgement due when enough has come.
    private func account(
        for message: BLIPIncomingMessage, wireBytes: Int, heldBefore: Int
    ) throws(BLIPError) {
        openBytes += message.heldBytes - heldBefore
        guard openBytes <= limits.openBytesMax else { throw .tooManyOpenBytes(limitBytes: limits.openBytesMax) }
        message.receivedBytes += UInt64(wireBytes)
        if isAcknowledgementWanted(message) { acknowledge(message) }
    }

    private func isAcknowledgementWanted(_ message: BLIPIncomingMessage) -> Bool {
        message.receivedBytes - message.acknowledgedBytes >= UInt64(WireLimits.blipAcknowledgeEveryBytes)
            && (openBytes <= limits.openBytesSoftMax || incomingOrder.first == message.key)
    }

    private func acknowledge(_ message: BLIPIncomingMessage) {
        message.acknowledgedBytes = message.receivedBytes
        guard !message.isAcknowledgementDue else { return }
        message.isAcknowledgementDue = true
        dueAcknowledgements.append(message.key)
    }

    /// Sends acknowledgements that were withheld, once there is room again or another message is the oldest.
    private func releaseAcknowledgements(oldestChanged: Bool) {
        if openBytes <= limits.openBytesSoftMax {
            for key in incomingOrder {
                if let message = incoming[key], isAcknowledgementWanted(message) { acknowledge(message) }
            }
        } else if oldestChanged, let first = incomingOrder.first, let message = incoming[first] {
            if isAcknowledgementWanted(message) { acknowledge(message) }
        }
    }

    private func wholeMessage(
        _ key: BLIPMessageKey, _ flags: BLIPFlags, _ payload: UnsafeRawBufferPointer
    ) throws(BLIPError) -> BLIPMessage {
        var offset = 0
        let count = try propertyByteCount(payload, &offset, key)
        guard count <= payload.count - offset else { throw .malformedProperties(number: key.number) }
        // Rebased, since an array copies a buffer in one go and a slice of one byte by byte.
        let block = Array(UnsafeRawBufferPointer(rebasing: payload[offset..<(offset + count)]))
        guard let properties = BLIPProperties(block: block) else {
            throw .malformedProperties(number: key.number)
        }
        let body = UnsafeRawBufferPointer(rebasing: payload[(offset + count)...])
        let isTooLarge = body.count > limits.messageBytesMax
        return BLIPMessage(
            number: key.number, kind: flags.kind, isUrgent: flags.isUrgent, isNoReply: flags.isNoReply,
            properties: properties, body: isTooLarge ? [] : Array(body),
            droppedBodyBytes: isTooLarge ? body.count : 0)
    }

    private func propertyByteCount(
        _ bytes: UnsafeRawBufferPointer, _ offset: inout Int, _ key: BLIPMessageKey
    ) throws(BLIPError) -> Int {
        guard let count = Varint.read(bytes, at: &offset) else { throw .malformedProperties(number: key.number) }
        guard count <= UInt64(limits.propertyBytesMax) else {
            throw .propertiesTooLarge(limitBytes: limits.propertyBytesMax)
        }
        return Int(count)
    }

    /// Hands on the plain payload of a frame in one or more pieces, after or while checking it.
    private func decode(
        _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(BLIPError) -> Void
    ) throws(BLIPError) {
        guard flags.isCompressed else {
            try body(try verifiedPlainPayload(rest))
            return
        }
        guard rest.count >= 4 else { throw .truncatedFrame }
        let inflater = try readyInflater()
        let payload = UnsafeRawBufferPointer(rebasing: rest[..<(rest.count - 4)])
        var crc = receiveCRC
        try inflater.inflate(payload, limitBytes: limits.inflatedFrameBytesMax) { (bytes) throws(BLIPError) in
            crc = crc32(crc, bytes)
            try body(bytes)
        }
        receiveCRC = crc
        try verifyChecksum(rest)
    }

    private func verifiedPlainPayload(_ rest: UnsafeRawBufferPointer) throws(BLIPError) -> UnsafeRawBufferPointer {
        guard rest.count >= 4 else { throw .truncatedFrame }
        let payload = UnsafeRawBufferPointer(rebasing: rest[..<(rest.count - 4)])
        receiveCRC = crc32(receiveCRC, payload)
        try verifyChecksum(rest)
        return payload
    }

    private func verifyChecksum(_ rest: UnsafeRawBufferPointer) throws(BLIPError) {
        let stored = UInt32(bigEndian: rest.loadUnaligned(fromByteOffset: rest.count - 4, as: UInt32.self))
        guard stored == UInt32(truncatingIfNeeded: receiveCRC) else { throw .checksumMismatch }
    }
}

/// zlib's running CRC-32 over a buffer. An empty one leaves it as it is: zlib would take a null pointer as "start anew".
@inline(__always)
private func crc32(_ crc: uLong, _ bytes: UnsafeRawBufferPointer) -> uLong {
    guard bytes.count > 0, let base = bytes.baseAddress else { return crc }
    return CZlib.crc32(crc, base.assumingMemoryBound(to: Bytef.self), uInt(bytes.count))
}
