// Bodies that are too long to be held: sent from pieces that the owner hands over when asked, and handed out while they
// come.

extension BLIPConnection {
    // MARK: Sending

    /// Queues the reply to a request with a body that is handed over piece by piece.
    ///
    /// Ask for the pulls that want a piece after each frame taken: ``takeHungryPulls()``. At most
    /// ``WireLimits/blipPulledBytesLow`` and one piece are held for each.
    ///
    /// - Parameters:
    ///   - head: its properties and the beginning of its body. It is sent uncompressed.
    ///   - byteCount: how many bytes the whole body has.
    ///   - tag: names the pull; unique among those under way.
    ///   - number: of the request.
    /// - Returns: as ``reply(_:to:)``.
    @discardableResult
    public func reply(_ head: BLIPOutgoing, pulling byteCount: Int, tag: UInt64, to number: UInt64) -> Bool {
        guard let isUrgent = unanswered.removeValue(forKey: number) else { return false }
        var head = head
        head.isCompressed = false
        let message = BLIPOutgoingMessage(
            head, type: BLIPFlags.typeResponse, number: number, isUrgent: isUrgent, tag: 0, pullTag: tag,
            outstandingByteCount: max(0, byteCount - head.body.count))
        if message.outstandingByteCount > 0 {
            pulls[tag] = message
            noteHunger(of: message)
        }
        enqueue(message)
        return true
    }

    /// The pulls that want their next piece, each named once until it gets one: by ``provide(_:toPull:)``, or
    /// ``endPull(_:)`` when there is none.
    public func takeHungryPulls() -> [UInt64] {
        guard !hungryPulls.isEmpty else { return [] }
        defer { hungryPulls = [] }
        return hungryPulls
    }

    /// Hands over the next bytes of a body, at least one; what is beyond its length is left out.
    public func provide(_ bytes: [UInt8], toPull tag: UInt64) {
        guard let message = pulls[tag] else { return }
        let before = message.availableByteCount
        message.add(bytes)
        message.isPieceAwaited = false
        countQueued(message.availableByteCount - before, of: message)
        if message.outstandingByteCount == 0 { pulls[tag] = nil }
        noteHunger(of: message)
        feed(message)
    }

    /// Ends a body before its announced length: the peer sees by its length or its digest that something is missing. BLIP
    /// has no other way to say so once a message has begun.
    public func endPull(_ tag: UInt64) {
        guard let message = pulls.removeValue(forKey: tag) else { return }
        message.cutShort()
        feed(message)
    }

    /// A starved message goes on, unless the peer has to acknowledge more first.
    private func feed(_ message: BLIPOutgoingMessage) {
        guard message.isStarved else { return }
        message.isStarved = false
        outbox.insert(message)
    }

    /// Puts a message that has begun where it waits: for acknowledgements, for its next piece, or for its turn.
    func requeue(_ message: BLIPOutgoingMessage) {
        noteHunger(of: message)
        if message.isOverWindow {
            paused[message.key] = message
        } else if message.availableByteCount == 0, message.outstandingByteCount > 0 {
            message.isStarved = true
        } else {
            outbox.insert(message)
        }
    }

    private func noteHunger(of message: BLIPOutgoingMessage) {
        guard let tag = message.pullTag, message.outstandingByteCount > 0, !message.isPieceAwaited,
            message.availableByteCount < WireLimits.blipPulledBytesLow
        else { return }
        message.isPieceAwaited = true
        hungryPulls.append(tag)
    }

    // MARK: Receiving

    /// Says that the owner is done with bytes of a response that is handed out as it comes. Only such bytes are
    /// acknowledged, so the peer sends no more than its window ahead of the owner.
    public func consume(_ count: Int, ofResponseTo tag: UInt64) {
        openBytes -= count
        unconsumedBytes -= count
        guard let key = streams[tag], let message = incoming[key] else { return }
        message.consume(count)
        if isAcknowledgementWanted(message) { acknowledge(message) }
        releaseAcknowledgements(oldestChanged: false)
    }

    /// A frame of a response whose body is handed out.
    func processStream(
        _ key: BLIPMessageKey, tag: UInt64, _ flags: BLIPFlags, _ rest: UnsafeRawBufferPointer,
        _ onEvent: (BLIPEvent) -> Void
    ) throws(BLIPError) {
        var part: [UInt8] = []
        var end: BLIPMessage?
        if let open = incoming[key] {
            end = try continueMessage(open, flags, rest)
            if end == nil { part = open.takeBody() }
        } else {
            end = try beginMessage(key, flags, rest, streamTag: tag)
            if let open = incoming[key] {
                streams[tag] = key
                part = open.takeBody()
            }
        }
        if var message = end {
            part = message.body
            message.body = []
            end = message
            // Those of an open message are counted already.
            openBytes += part.count
            awaited[key.number] = nil
            streamedNumbers.remove(key.number)
            streams[tag] = nil
        }
        unconsumedBytes += part.count
        if !part.isEmpty { onEvent(.responsePart(tag: tag, part)) }
        if let end { onEvent(.response(tag: tag, end)) }
    }
}
