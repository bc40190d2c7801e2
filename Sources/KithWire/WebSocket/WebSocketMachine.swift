/// One end of a WebSocket connection after its handshake (RFC 6455): bytes in, messages out, and the other way round.
///
/// The machine does no I/O. Give it all bytes that come, in any pieces; it calls back with whole messages. Whatever it
/// appends to a buffer is to be sent in the order in which it was appended. No extension is ever agreed, so a frame with
/// a reserved bit is a violation.
///
/// ```swift
/// try machine.receive(bytes) { event in
///     switch event {
///     case .message(_, let payload): …           // borrowed, copy what must stay
///     case .ping(let payload): machine.appendPong(payload, to: &output)
///     case .pong: break
///     case .close(let code, _): machine.appendClose(code: code, to: &output)
///     }
/// }
/// ```
///
/// A message that lies whole in the received bytes is handed on without a copy by a client, and with one copy (to unmask
/// it) by a server. Not `Sendable`: it belongs to one isolation. The callback may append, but must not call
/// ``receive(_:onEvent:)``.
public final class WebSocketMachine {
    /// Which end this is.
    public let role: WebSocketRole
    private let limits: WebSocketLimits
    private let makeMaskKey: () -> UInt32

    // Receiving
    private var failure: WebSocketError?
    private var isReceiving = false
    /// Whether the peer's close frame has come; everything after it is ignored.
    public private(set) var hasReceivedClose = false
    /// The bytes of a header that has not come whole.
    private var headerBytes: [UInt8] = []
    /// The frame whose payload is coming.
    private var frame: Frame?
    /// The kind of the message whose fragments are coming.
    private var messageOpcode: WebSocketOpcode?
    private var messageBytes: [UInt8] = []
    private var controlBytes: [UInt8] = []
    private var textChecker = UTF8Checker()

    // Sending
    /// Whether a close frame was appended; no data may follow it.
    public private(set) var hasSentClose = false

    private struct Frame {
        var isFinal: Bool
        /// `nil` for data, which belongs to the open message.
        var control: Control?
        var mask: UInt32?
        var length: Int
        var received = 0
        var remaining: Int { length - received }
    }

    private enum Control: UInt8 {
        case close = 0x8
        case ping = 0x9
        case pong = 0xA
    }

    /// A machine for a connection whose handshake is done.
    ///
    /// - Parameters:
    ///   - role: which end it is.
    ///   - limits: the bounds for what comes in.
    ///   - makeMaskKey: makes the key of each frame that a client sends, must be unpredictable except in tests; `nil`: as
    ///     OpenSSL's generator gives them.
    public init(
        role: WebSocketRole, limits: WebSocketLimits = WebSocketLimits(),
        makeMaskKey: (() -> UInt32)? = nil
    ) {
        self.role = role
        self.limits = limits
        let keys = WebSocketMaskKeys()
        self.makeMaskKey = makeMaskKey ?? { keys.next() }
    }

    // MARK: Receiving

    /// Whether a message has begun and not ended: the peer is alive, however long it takes.
    public var isInsideMessage: Bool { frame != nil || messageOpcode != nil || !headerBytes.isEmpty }

    /// Takes the next bytes and calls back for everything that they complete, in order.
    ///
    /// - Throws: ``WebSocketError`` when the peer breaks the protocol, after the callbacks for what came before. Every
    ///   later call throws the same.
    public func receive(
        _ bytes: UnsafeRawBufferPointer, onEvent: (WebSocketEvent) -> Void
    ) throws(WebSocketError) {
        if let failure { throw failure }
        precondition(!isReceiving, "receive is called from its own callback")
        isReceiving = true
        defer { isReceiving = false }
        do throws(WebSocketError) {
            var rest = bytes
            while !hasReceivedClose {
                if frame == nil {
                    guard let next = try takeHeader(&rest) else { return }
                    frame = next
                }
                guard try takePayload(&rest, onEvent) else { return }
            }
        } catch {
            failure = error
            messageBytes = []
            throw error
        }
    }

    /// Reads a frame's header, checking each byte as soon as it is there; `nil` when more bytes are needed.
    private func takeHeader(_ rest: inout UnsafeRawBufferPointer) throws(WebSocketError) -> Frame? {
        if headerBytes.isEmpty {
            // The common case: the header lies whole in what has come.
            if let (frame, count) = try parseHeader(rest) {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                return frame
            }
            headerBytes.append(contentsOf: rest)
            rest = UnsafeRawBufferPointer(rebasing: rest[rest.count...])
            return nil
        }
        while let byte = rest.first {
            headerBytes.append(byte)
            rest = UnsafeRawBufferPointer(rebasing: rest[1...])
            var result: Result<Frame?, WebSocketError> = .success(nil)
            headerBytes.withUnsafeBytes { bytes in
                do throws(WebSocketError) {
                    result = .success(try parseHeader(bytes)?.frame)
                } catch {
                    result = .failure(error)
                }
            }
            if let frame = try result.get() {
                headerBytes.removeAll(keepingCapacity: true)
                return frame
            }
        }
        return nil
    }

    private func parseHeader(
        _ bytes: UnsafeRawBufferPointer
    ) throws(WebSocketError) -> (frame: Frame, count: Int)? {
        guard bytes.count >= 1 else { return nil }
        let first = bytes[0]
        let isFinal = first & 0x80 != 0
        guard first & 0x70 == 0 else { throw .violation("a reserved bit is set") }
        let opcode = first & 0x0F
        let control = Control(rawValue: opcode)
        if control != nil {
            guard isFinal else { throw .violation("a control frame is fragmented") }
        } else if opcode == 0 {
            guard messageOpcode != nil else { throw .violation("a continuation without a message") }
        } else {
            guard WebSocketOpcode(rawValue: opcode) != nil else { throw .violation("opcode \(opcode) is reserved") }
            guard messageOpcode == nil else { throw .violation("a new message inside a fragmented one") }
        }

        guard bytes.count >= 2 else { return nil }
        let second = bytes[1]
        let isMasked = second & 0x80 != 0
        guard isMasked == (role == .server) else {
            throw .violation(role == .server ? "a client's frame is not masked" : "a server's frame is masked")
        }
        let shortLength = Int(second & 0x7F)
        guard control == nil || shortLength <= WireLimits.webSocketControlBytesMax else {
            throw .violation("a control frame is longer than 125 bytes")
        }
        var count = 2
        var length = UInt64(shortLength)
        if shortLength == 126 {
            guard bytes.count >= 4 else { return nil }
            length = UInt64(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            guard length > 125 else { throw .violation("a length is not in its shortest form") }
            count = 4
        } else if shortLength == 127 {
            guard bytes.count >= 10 else { return nil }
            length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length <= UInt64(Int64.max) else { throw .violation("a length has its highest bit set") }
            guard length > 0xFFFF else { throw .violation("a length is not in its shortest form") }
            count = 10
        }
        if control == nil {
            guard length <= UInt64(max(0, limits.messageBytesMax - messageBytes.count)) else {
                throw .tooLarge(limitBytes: limits.messageBytesMax)
            }
        }
        var mask: UInt32?
        if isMasked {
            guard bytes.count >= count + 4 else { return nil }
            mask = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: count, as: UInt32.self))
            count += 4
        }
        if let opcode = WebSocketOpcode(rawValue: opcode) {
            messageOpcode = opcode
            textChecker = UTF8Checker()
        }
        return (Frame(isFinal: isFinal, control: control, mask: mask, length: Int(length)), count)
    }

    /// Takes what has come of the frame's payload; returns whether the frame ended.
    private func takePayload(
        _ rest: inout UnsafeRawBufferPointer, _ onEvent: (WebSocketEvent) -> Void
    ) throws(WebSocketError) -> Bool {
        guard var current = frame else { return false }
        let taken = min(current.remaining, rest.count)
        let piece = UnsafeRawBufferPointer(rebasing: rest[..<taken])
        rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        let isWhole = taken == current.length

        if current.control == nil, isWhole, current.isFinal, messageBytes.isEmpty, current.mask == nil {
            frame = nil
            try checkText(piece, isEnd: true)
            deliver(piece, onEvent)
            return true
        }
        if current.control != nil {
            append(piece, of: current, to: &controlBytes)
        } else {
            let start = messageBytes.count
            append(piece, of: current, to: &messageBytes)
            if messageOpcode == .text { try checkAppendedText(from: start) }
        }
        current.received += taken
        guard current.remaining == 0 else {
            frame = current
            return false
        }
        frame = nil
        if let control = current.control {
            try finishControl(control, onEvent)
        } else if current.isFinal {
            guard textChecker.isAtBoundary else { throw .notUTF8 }
            // Moved out, so that the callback finds the machine in a state of rest.
            var message = messageBytes
            messageBytes = []
            message.withUnsafeBytes { deliver($0, onEvent) }
            if message.capacity <= WireLimits.blipBigFrameBytes * 4 {
                message.removeAll(keepingCapacity: true)
                messageBytes = message
            }
        }
        return true
    }

    private func append(_ piece: UnsafeRawBufferPointer, of frame: Frame, to out: inout [UInt8]) {
        let start = out.count
        out.append(contentsOf: piece)
        guard let mask = frame.mask else { return }
        out.withUnsafeMutableBytes { bytes in
            WebSocketMask.apply(
                mask, offset: frame.received, to: UnsafeMutableRawBufferPointer(rebasing: bytes[start...]))
        }
    }

    private func deliver(_ payload: UnsafeRawBufferPointer, _ onEvent: (WebSocketEvent) -> Void) {
        guard let opcode = messageOpcode else { return }
        messageOpcode = nil
        onEvent(.message(opcode, payload))
    }

    private func checkText(_ bytes: UnsafeRawBufferPointer, isEnd: Bool) throws(WebSocketError) {
        guard messageOpcode == .text else { return }
        guard textChecker.take(bytes), !isEnd || textChecker.isAtBoundary else { throw .notUTF8 }
    }

    private func checkAppendedText(from start: Int) throws(WebSocketError) {
        let isValid = messageBytes.withUnsafeBytes {
            textChecker.take(UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
        guard isValid else { throw .notUTF8 }
    }

    private func finishControl(
        _ control: Control, _ onEvent: (WebSocketEvent) -> Void
    ) throws(WebSocketError) {
        let payload = controlBytes
        controlBytes = []
        switch control {
        case .ping: payload.withUnsafeBytes { onEvent(.ping($0)) }
        case .pong: payload.withUnsafeBytes { onEvent(.pong($0)) }
        case .close:
            let (code, reason) = try Self.parseClose(payload)
            hasReceivedClose = true
            messageBytes = []
            messageOpcode = nil
            onEvent(.close(code: code, reason: reason))
        }
    }

    private static func parseClose(_ payload: [UInt8]) throws(WebSocketError) -> (UInt16?, String) {
        guard payload.count > 0 else { return (nil, "") }
        guard payload.count >= 2 else { throw .violation("a close frame holds one byte") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard WebSocketCloseCode.isLegalOnWire(code) else {
            throw .violation("close code \(code) may not be sent")
        }
        guard let reason = payload[2...].withUnsafeBytes({ UTF8Text.string($0) }) else { throw .notUTF8 }
        return (code, reason)
    }

    // MARK: Sending

    /// Appends a message, in one frame.
    public func appendMessage(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        appendFrame(opcode.rawValue, payload, to: &out)
    }

    /// Appends a message, in one frame.
    public func appendMessage(_ opcode: WebSocketOpcode, _ payload: [UInt8], to out: inout [UInt8]) {
        payload.withUnsafeBytes { appendFrame(opcode.rawValue, $0, to: &out) }
    }

    /// Appends a message whose payload `write` appends to the same buffer, so that it is not copied.
    ///
    /// ```swift
    /// machine.appendMessage(.binary, to: &output) { blip.appendNextFrame(to: &$0) }
    /// ```
    ///
    /// - Parameter write: appends the payload and returns whether there is one; `false` leaves the buffer as it was.
    /// - Returns: what `write` returned.
    @discardableResult
    public func appendMessage(
        _ opcode: WebSocketOpcode, to out: inout [UInt8], writingPayload write: (inout [UInt8]) -> Bool
    ) -> Bool {
        let start = out.count
        // Room for the form that BLIP frames mostly need; another length moves the payload.
        let reserved = headerByteCount(payloadBytes: 126)
        for _ in 0..<reserved { out.append(0) }
        guard write(&out) else {
            out.removeLast(out.count - start)
            return false
        }
        let payloadBytes = out.count - start - reserved
        let needed = headerByteCount(payloadBytes: payloadBytes)
        for _ in 0..<max(0, needed - reserved) { out.append(0) }
        out.withUnsafeMutableBytes { bytes in
            let frame = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            let payload = UnsafeMutableRawBufferPointer(rebasing: frame[needed..<(needed + payloadBytes)])
            if needed != reserved {
                let written = UnsafeRawBufferPointer(rebasing: frame[reserved..<(reserved + payloadBytes)])
                payload.copyMemory(from: written)
            }
            if let mask = writeHeader(opcode.rawValue, payloadBytes: payloadBytes, to: frame) {
                WebSocketMask.apply(mask, offset: 0, to: payload)
            }
        }
        out.removeLast(max(0, reserved - needed))
        return true
    }

    /// Appends a ping with a payload of at most 125 bytes; a longer one is cut.
    public func appendPing(_ payload: UnsafeRawBufferPointer = .init(start: nil, count: 0), to out: inout [UInt8]) {
        appendControl(.ping, payload, to: &out)
    }

    /// Appends a pong with a payload of at most 125 bytes; a longer one is cut.
    public func appendPong(_ payload: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        appendControl(.pong, payload, to: &out)
    }

    /// Appends a close frame, once: a second call does nothing.
    ///
    /// - Parameters:
    ///   - code: why; `nil` sends an empty close. One that may not travel is sent as 1000.
    ///   - reason: for people; what exceeds 123 bytes is cut at a character.
    public func appendClose(code: UInt16?, reason: String = "", to out: inout [UInt8]) {
        guard !hasSentClose else { return }
        var payload: [UInt8] = []
        if let code {
            let legal = WebSocketCloseCode.isLegalOnWire(code) ? code : WebSocketCloseCode.normal
            payload = [UInt8(legal >> 8), UInt8(legal & 0xFF)]
            for character in reason {
                guard payload.count + character.utf8.count <= WireLimits.webSocketControlBytesMax else { break }
                payload.append(contentsOf: character.utf8)
            }
        }
        payload.withUnsafeBytes { appendControl(.close, $0, to: &out) }
        hasSentClose = true
    }

    private func appendControl(_ control: Control, _ payload: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        let cut = UnsafeRawBufferPointer(rebasing: payload.prefix(WireLimits.webSocketControlBytesMax))
        appendFrame(control.rawValue, cut, to: &out)
    }

    private func appendFrame(_ opcode: UInt8, _ payload: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        let start = out.count
        let headerBytes = headerByteCount(payloadBytes: payload.count)
        for _ in 0..<headerBytes { out.append(0) }
        out.append(contentsOf: payload)
        out.withUnsafeMutableBytes { bytes in
            let frame = UnsafeMutableRawBufferPointer(rebasing: bytes[start...])
            guard let mask = writeHeader(opcode, payloadBytes: payload.count, to: frame) else { return }
            WebSocketMask.apply(mask, offset: 0, to: UnsafeMutableRawBufferPointer(rebasing: frame[headerBytes...]))
        }
    }

    private func headerByteCount(payloadBytes: Int) -> Int {
        let lengthBytes = payloadBytes < 126 ? 2 : payloadBytes <= 0xFFFF ? 4 : 10
        return lengthBytes + (role == .client ? 4 : 0)
    }

    /// Writes the header of a final frame in front of its payload, and returns the mask that it announces.
    private func writeHeader(_ opcode: UInt8, payloadBytes: Int, to frame: UnsafeMutableRawBufferPointer) -> UInt32? {
        let maskBit: UInt8 = role == .client ? 0x80 : 0
        frame[0] = 0x80 | opcode
        var count = 2
        if payloadBytes < 126 {
            frame[1] = maskBit | UInt8(payloadBytes)
        } else if payloadBytes <= 0xFFFF {
            frame[1] = maskBit | 126
            frame.storeBytes(of: UInt16(payloadBytes).bigEndian, toByteOffset: 2, as: UInt16.self)
            count = 4
        } else {
            frame[1] = maskBit | 127
            frame.storeBytes(of: UInt64(payloadBytes).bigEndian, toByteOffset: 2, as: UInt64.self)
            count = 10
        }
        guard role == .client else { return nil }
        let mask = makeMaskKey()
        frame.storeBytes(of: mask.littleEndian, toByteOffset: count, as: UInt32.self)
        return mask
    }
}
