/// Reads HTTP/1.1 requests (RFC 9112), strictly: what two recipients could read in two ways is refused.
///
/// The parser is pulled: give it bytes with ``receive(_:)`` and take events until there is none. Not taking the next
/// event holds back a pipelined request, and limits may be changed between events.
///
/// ```swift
/// parser.receive(bytes)
/// while let event = try parser.nextEvent() {
///     switch event {
///     case .head(let head): parser.bodyBytesMax = limit(for: head)
///     case .body(let bytes): …
///     case .end: …    // after an upgrade: parser.takeRemainder()
///     }
/// }
/// ```
public struct HTTPRequestParser: Sendable {
    /// The longest body that is taken, in bytes; may be set for each request after its head.
    public var bodyBytesMax: Int

    private var input: HTTPInput
    private var body: HTTPBody?
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

    /// Says that the client sends no more. What is whole can still be taken.
    public mutating func receiveEnd() {
        input.hasEnded = true
    }

    /// Bytes that have come and have not been taken as events: stop reading from the socket when there are many.
    public var bufferedBytes: Int { input.availableBytes }

    /// Whether a request has begun and not ended.
    public var isInsideRequest: Bool { body != nil || input.isInsideHead }

    /// Everything that came after the last event: the first bytes of the protocol after an upgrade.
    public mutating func takeRemainder() -> [UInt8] {
        input.takeRemainder()
    }

    /// The next event; `nil` when more bytes must come first.
    ///
    /// - Throws: ``HTTPParseError``, and the same at every later call.
    public mutating func nextEvent() throws(HTTPParseError) -> HTTPRequestEvent? {
        if let failure { throw failure }
        do throws(HTTPParseError) {
            return try readEvent()
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func readEvent() throws(HTTPParseError) -> HTTPRequestEvent? {
        if var body {
            let piece = try input.takeBody(&body, bodyBytesMax: bodyBytesMax)
            guard let piece else {
                self.body = nil
                return .end
            }
            self.body = body
            if piece.isEmpty {
                guard !input.hasEnded else { throw HTTPParseError(400, "the connection ends inside a request") }
                return nil
            }
            return .body(piece)
        }
        guard let lines = try input.takeHead(isRequest: true) else {
            guard !input.hasEnded || !input.isInsideHead else {
                throw HTTPParseError(400, "the connection ends inside a request")
            }
            return nil
        }
        let head = try parseHead(lines)
        body = try HTTPInput.framing(head.headers, minorVersion: head.minorVersion) ?? HTTPBody.none
        input.beginBody()
        return .head(head)
    }

    private func parseHead(_ lines: [ArraySlice<UInt8>]) throws(HTTPParseError) -> HTTPRequestHead {
        let parts = lines[0].split(separator: ASCII.space, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw HTTPParseError(400, "the request line is not three words") }
        let method = parts[0]
        guard !method.isEmpty, method.allSatisfy(ASCII.isToken) else {
            throw HTTPParseError(400, "the method is not a word")
        }
        guard method.count <= WireLimits.httpMethodBytesMax else { throw HTTPParseError(501, "the method is too long") }
        guard parts[1].count <= input.limits.targetBytesMax else { throw HTTPParseError(414, "the target is too long") }
        let minorVersion = try HTTPInput.minorVersion(parts[2])
        let isOptions = method.elementsEqual("OPTIONS".utf8)
        guard let target = HTTPTarget(String(decoding: parts[1], as: UTF8.self)),
            target.text != "*" || isOptions
        else { throw HTTPParseError(400, "the target is not a path with every special character percent-encoded") }
        let headers = try HTTPInput.fields(lines[1...])
        try Self.checkHost(headers, minorVersion: minorVersion)
        return HTTPRequestHead(
            method: String(decoding: method, as: UTF8.self), target: target, minorVersion: minorVersion,
            headers: headers)
    }

    /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1, and it is a host with or without a port.
    private static func checkHost(_ headers: HTTPHeaders, minorVersion: Int) throws(HTTPParseError) {
        let hosts = headers.values(of: "Host")
        guard hosts.count == 1 || (hosts.isEmpty && minorVersion == 0) else {
            throw HTTPParseError(400, "there is not exactly one Host field")
        }
        guard let host = hosts.first else { return }
        let isLegal = host.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"),
                UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "%"), UInt8(ascii: "!"), UInt8(ascii: "$"),
                UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "*"),
                UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "="):
                true
            default: false
            }
        }
        guard isLegal else { throw HTTPParseError(400, "the Host field is not a host") }
    }
}
