import CZlib

extension BLIPConnection {
    /// Takes one frame, which is one binary WebSocket message.
    ///
    /// - Returns: the message that the frame completed, if any, and before it the bytes of a response that is handed out
    ///   as it comes.
    /// - Throws: what ended the connection. Every later call throws the same.
    public func receive(_ frame: UnsafeRawBufferPointer) throws(BLIPError) -> [BLIPEvent] {
        var events: [BLIPEvent] = []
        try receive(frame) { events.append($0) }
        return events
    }

    /// Takes one frame, as ``receive(_:)``, and hands its events over one by one, which costs no list of them.
    ///
    /// - Parameter onEvent: may send and reply; must not receive.
    public func receive(
        _ frame: UnsafeRawBufferPointer, onEvent: (BLIPEvent) -> Void
    ) throws(BLIPError) {
        if let failure { throw failure }
        do throws(BLIPError) {
            try process(frame, onEvent)
        } catch {
            failure = error
            throw error
        }
    }

    private func process(_ frame: UnsafeRawBufferPointer, _ onEvent: (BLIPEvent) -> Void) throws(BLIPError) {
        var offset = 0
        guard let number = Varint.read(frame, at: &offset), let bits = Varint.read(frame, at: &offset) else {
            throw .malformedHeader
        }
        let flags = BLIPFlags(bits: bits)
        let rest = UnsafeRawBufferPointer(rebasing: frame[offset...])
        switch flags.type {
        case BLIPFlags.typeRequest:
            try processRequest(number, flags, rest, onEvent)
        case BLIPFlags.typeResponse, BLIPFlags.typeError:
            try processResponse(number, flags, rest, onEvent)
        case BLIPFlags.typeRequestACK, BLIPFlags.typeResponseACK:
            try processAcknowledgement(number, isResponse: flags.type == BLIPFlags.typeResponseACK, rest)
        default:
            // Skipped before the codec, as LiteCore does (blip.md §5.1).
            break
        }
    }

    private func processRequest(
        _ number: UInt64, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer, _ onEvent: (BLIPEvent) -> Void
    ) throws(BLIPError) {
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
        guard let message else { return }
        if !message.isNoReply {
            guard unanswered.count < limits.unansweredRequestsMax else {
                throw .tooManyUnansweredRequests(limit: limits.unansweredRequestsMax)
            }
            unanswered[number] = message.isUrgent
        }
        onEvent(.request(message))
    }

    private func processResponse(
        _ number: UInt64, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer, _ onEvent: (BLIPEvent) -> Void
    ) throws(BLIPError) {
        guard let tag = awaited[number] else { throw .unexpectedResponse(number: number) }
        let key = BLIPMessageKey(number: number, isResponse: true)
        // The text of an error is no part of the body that was asked for.
        if flags.type == BLIPFlags.typeResponse, !streamedNumbers.isEmpty, streamedNumbers.contains(number) {
            return try processStream(key, tag: tag, flags, rest, onEvent)
        }
        let message: BLIPMessage?
        if !incoming.isEmpty, let open = incoming[key] {
            message = try continueMessage(open, flags, rest)
        } else {
            message = try beginMessage(key, flags, rest)
        }
        guard let message else { return }
        awaited[number] = nil
        if !streamedNumbers.isEmpty, streamedNumbers.remove(number) != nil { streams[tag] = nil }
        onEvent(.response(tag: tag, message))
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
        if !message.isOverWindow, paused.removeValue(forKey: key) != nil { requeue(message) }
    }

    /// The first frame of a message: when it is also the last, nothing is kept.
    func beginMessage(
        _ key: BLIPMessageKey, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer, streamTag: UInt64? = nil
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
                key: key, flags: flags, propertyByteCount: count, bodyBytesMax: limits.messageBytesMax,
                streamTag: streamTag)
            new.append(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
            message = new
        }
        guard let message else { throw .malformedProperties(number: key.number) }
        guard flags.hasMoreComing else { return try message.finish() }
        incoming[key] = message
        // A stream is held back by whoever consumes it, not by what others hold.
        if streamTag == nil { incomingOrder.append(key) }
        try account(for: message, wireBytes: rest.count, heldBefore: 0)
        return nil
    }

    func continueMessage(
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
        message.count(wireBytes: wireBytes)
        if isAcknowledgementWanted(message) { acknowledge(message) }
    }

    func isAcknowledgementWanted(_ message: BLIPIncomingMessage) -> Bool {
        message.acknowledgeableBytes - message.acknowledgedBytes >= UInt64(WireLimits.blipAcknowledgeEveryBytes)
            && (message.streamTag != nil || openBytes <= limits.openBytesSoftMax || incomingOrder.first == message.key)
    }

    func acknowledge(_ message: BLIPIncomingMessage) {
        message.acknowledgedBytes = message.acknowledgeableBytes
        guard !message.isAcknowledgementDue else { return }
        message.isAcknowledgementDue = true
        dueAcknowledgements.append(message.key)
    }

    /// Sends acknowledgements that were withheld, once there is room again or another message is the oldest.
    func releaseAcknowledgements(oldestChanged: Bool) {
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
