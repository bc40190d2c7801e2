/// Reads HTTP/1.1 responses (RFC 9112), as strictly as ``HTTPRequestParser`` reads requests.
///
/// The parser is pulled: give it bytes with ``receive(_:)``, say with ``receiveEnd()`` that the server ended the
/// connection, and take events until there is none.
public struct HTTPResponseParser: Sendable {
    /// The longest body that is taken, in bytes; may be set for each response after its head.
    public var bodyBytesMax: Int
    /// Whether the next response answers a `HEAD` request and so has no body, whatever its fields say.
    public var answersHeadRequest = false

    private var input: HTTPInput
    private var body: HTTPBody?
    private var interimCount = 0
    private var isUpgraded = false
    private var failure: HTTPParseError?

    /// A parser at the beginning of a connection.
    public init(limits: HTTPLimits = HTTPLimits()) {
        input = HTTPInput(limits: limits)
        bodyBytesMax = limits.bodyBytesMax
    }

    /// Takes the next bytes of the connection.
    public mutating func receive(_ bytes: UnsafeRawBufferPointer) {
        input.append(bytes)
    }

    /// Says that the server sends no more: the end of a body that has no other.
    public mutating func receiveEnd() {
        input.hasEnded = true
    }

    /// Bytes that have come and have not been taken as events: stop reading from the socket when there are many.
    public var bufferedBytes: Int { input.availableBytes }

    /// Whether a response has begun and not ended.
    public var isInsideResponse: Bool { body != nil || (!isUpgraded && input.isInsideHead) }

    /// Everything that came after the last event: the first bytes of the protocol after an upgrade.
    public mutating func takeRemainder() -> [UInt8] {
        input.takeRemainder()
    }

    /// The next event; `nil` when more bytes must come first, and always after the `end` of a 101.
    ///
    /// - Throws: ``HTTPParseError``, and the same at every later call.
    public mutating func nextEvent() throws(HTTPParseError) -> HTTPResponseEvent? {
        if let failure { throw failure }
        do throws(HTTPParseError) {
            return try readEvent()
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func readEvent() throws(HTTPParseError) -> HTTPResponseEvent? {
        if var body {
            let piece = try input.takeBody(&body, bodyBytesMax: bodyBytesMax)
            guard let piece else {
                self.body = nil
                return .end
            }
            self.body = body
            if piece.isEmpty {
                guard !input.hasEnded else { throw HTTPParseError(400, "the connection ends inside a response") }
                return nil
            }
            return .body(piece)
        }
        guard !isUpgraded else { return nil }
        guard let lines = try input.takeHead(isRequest: false) else {
            guard !input.hasEnded || !input.isInsideHead else {
                throw HTTPParseError(400, "the connection ends inside a response")
            }
            return nil
        }
        let head = try Self.parseHead(lines)
        let framing = try HTTPInput.framing(head.headers, minorVersion: head.minorVersion)
        if head.status < 200, head.status != 101 {
            interimCount += 1
            guard interimCount <= WireLimits.httpInterimResponsesMax else {
                throw HTTPParseError(400, "there are too many interim responses")
            }
            return .interim(head)
        }
        interimCount = 0
        isUpgraded = head.status == 101
        if answersHeadRequest || isUpgraded || head.status == 204 || head.status == 304 {
            body = HTTPBody.none
        } else {
            body = framing ?? .untilEnd
        }
        answersHeadRequest = false
        input.beginBody()
        return .head(head)
    }

    private static func parseHead(_ lines: [ArraySlice<UInt8>]) throws(HTTPParseError) -> HTTPResponseHead {
        let parts = lines[0].split(separator: ASCII.space, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw HTTPParseError(400, "the status line is not three words") }
        let minorVersion = try HTTPInput.minorVersion(parts[0])
        guard parts[1].count == 3, parts[1].allSatisfy(ASCII.isDigit),
            let status = Int(String(decoding: parts[1], as: UTF8.self)),
            (100...599).contains(status)
        else { throw HTTPParseError(400, "the status is not a number from 100 to 599") }
        guard parts[2].allSatisfy(ASCII.isFieldValue) else {
            throw HTTPParseError(400, "the status line holds a character that it must not")
        }
        return HTTPResponseHead(
            status: status, reason: String(decoding: parts[2], as: UTF8.self), minorVersion: minorVersion,
            headers: try HTTPInput.fields(lines[1...]))
    }
}
