/// The bytes of an HTTP connection that have come and have not been used, and the parts that requests and responses
/// share: heads as lines, header fields, bodies (RFC 9112).
struct HTTPInput {
    let limits: HTTPLimits
    private var buffer: [UInt8] = []
    private var position = 0
    var hasEnded = false

    // The head that is coming. Offsets count from `position`.
    private var scanned = 0
    private var lineStart = 0
    private var lines: [Range<Int>] = []
    private var mayBeginWithEmptyLine = true

    // The body that is coming.
    private var bodyBytes = 0
    private var trailerBytes = 0

    init(limits: HTTPLimits) {
        self.limits = limits
    }

    var availableBytes: Int { buffer.count - position }

    /// Whether a head has begun: the stream must not end here.
    var isInsideHead: Bool { availableBytes > 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if position == buffer.count {
            buffer.removeAll(keepingCapacity: buffer.capacity <= 2 * WireLimits.httpBodyEventBytesMax)
            position = 0
        } else if position >= WireLimits.httpBodyEventBytesMax {
            buffer.removeFirst(position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    mutating func takeRemainder() -> [UInt8] {
        let rest = Array(buffer[position...])
        buffer = []
        position = 0
        return rest
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        let bytes = Array(buffer[position..<(position + count)])
        position += count
        return bytes
    }

    // MARK: Heads

    /// The lines of the next head without their ends, once its empty line has come.
    ///
    /// Only CRLF ends a line: a recipient that takes a bare LF or CR as an end of line, beside one that does not, is how
    /// requests are smuggled.
    mutating func takeHead(isRequest: Bool) throws(HTTPParseError) -> [ArraySlice<UInt8>]? {
        while position + scanned < buffer.count {
            let byte = buffer[position + scanned]
            let followsCR = scanned > lineStart && buffer[position + scanned - 1] == ASCII.cr
            guard (byte == ASCII.lf) == followsCR else {
                throw HTTPParseError(400, "a line does not end in CR LF")
            }
            scanned += 1
            guard scanned <= limits.headBytesMax else { throw HTTPParseError(431, "the head is too long") }
            guard byte == ASCII.lf else { continue }
            let line = lineStart..<(scanned - 2)
            lineStart = scanned
            if line.isEmpty {
                if lines.isEmpty {
                    // One empty line before a request is a relic of old clients (RFC 9112 §2.2).
                    guard isRequest, mayBeginWithEmptyLine else {
                        throw HTTPParseError(400, "an empty line stands where a message begins")
                    }
                    mayBeginWithEmptyLine = false
                    continue
                }
                let head = lines.map { buffer[(position + $0.lowerBound)..<(position + $0.upperBound)] }
                position += scanned
                resetHead()
                return head
            }
            guard lines.count <= limits.headerFieldsMax else {
                throw HTTPParseError(431, "there are too many header fields")
            }
            lines.append(line)
        }
        return nil
    }

    private mutating func resetHead() {
        scanned = 0
        lineStart = 0
        lines.removeAll(keepingCapacity: true)
        mayBeginWithEmptyLine = true
    }

    /// The header fields of the lines after the first.
    static func fields(_ lines: ArraySlice<ArraySlice<UInt8>>) throws(HTTPParseError) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines {
            guard let first = line.first, first != ASCII.space, first != ASCII.tab else {
                throw HTTPParseError(400, "a header field is folded")
            }
            guard let colon = line.firstIndex(of: ASCII.colon), colon > line.startIndex else {
                throw HTTPParseError(400, "a header field has no name")
            }
            let name = line[..<colon]
            guard name.allSatisfy(ASCII.isToken) else {
                throw HTTPParseError(400, "a header field's name holds a character that it must not")
            }
            var value = line[(colon + 1)...]
            while let byte = value.first, byte == ASCII.space || byte == ASCII.tab { value.removeFirst() }
            while let byte = value.last, byte == ASCII.space || byte == ASCII.tab { value.removeLast() }
            guard value.allSatisfy(ASCII.isFieldValue), let text = value.withUnsafeBytes({ UTF8Text.string($0) })
            else { throw HTTPParseError(400, "a header field's value holds a character that it must not") }
            headers.add(String(decoding: name, as: UTF8.self), text)
        }
        return headers
    }

    /// How the body after a head is delimited, from fields that two recipients could read in two ways being refused
    /// (RFC 9112 §6.3): several lengths, a length beside a coding, a coding in HTTP/1.0.
    ///
    /// - Returns: `nil` when the head gives neither a length nor a coding.
    static func framing(_ headers: HTTPHeaders, minorVersion: Int) throws(HTTPParseError) -> HTTPBody? {
        let codings = headers.values(of: "Transfer-Encoding")
        let lengths = headers.values(of: "Content-Length")
        guard codings.isEmpty else {
            guard lengths.isEmpty else {
                throw HTTPParseError(400, "both Content-Length and Transfer-Encoding are given")
            }
            guard minorVersion >= 1 else { throw HTTPParseError(400, "Transfer-Encoding in HTTP/1.0") }
            guard codings.count == 1, HTTPHeaders.isSame(codings[0], "chunked") else {
                throw HTTPParseError(501, "a transfer coding other than chunked")
            }
            return .chunkSize
        }
        guard !lengths.isEmpty else { return nil }
        let digits = lengths[0].utf8
        guard lengths.count == 1, (1...18).contains(digits.count), digits.allSatisfy(ASCII.isDigit),
            let length = Int(lengths[0])
        else { throw HTTPParseError(400, "Content-Length is not one decimal number") }
        return .fixed(length)
    }

    /// `minorVersion` of `HTTP/1.x`.
    static func minorVersion(_ bytes: ArraySlice<UInt8>) throws(HTTPParseError) -> Int {
        guard bytes.count == 8, bytes.starts(with: "HTTP/".utf8), bytes.dropFirst(6).first == UInt8(ascii: ".") else {
            throw HTTPParseError(400, "the first line has no HTTP version")
        }
        let major = bytes[bytes.startIndex + 5]
        let minor = bytes[bytes.startIndex + 7]
        guard ASCII.isDigit(major), ASCII.isDigit(minor) else {
            throw HTTPParseError(400, "the first line has no HTTP version")
        }
        guard major == UInt8(ascii: "1"), minor <= UInt8(ascii: "1") else {
            throw HTTPParseError(505, "the HTTP version is not 1.0 or 1.1")
        }
        return Int(minor - UInt8(ascii: "0"))
    }

    // MARK: Bodies

    /// Begins a body; `bodyBytesMax` applies to all of it.
    mutating func beginBody() {
        bodyBytes = 0
        trailerBytes = 0
    }

    /// The next piece of a body, an empty array when more must come first, `nil` when the body has ended.
    mutating func takeBody(_ body: inout HTTPBody, bodyBytesMax: Int) throws(HTTPParseError) -> [UInt8]? {
        while true {
            switch body {
            case .none:
                return nil
            case .fixed(let left):
                guard left <= bodyBytesMax - bodyBytes else { throw HTTPParseError(413, "the body is too large") }
                guard left > 0 else {
                    body = .none
                    continue
                }
                let piece = takeBodyPiece(atMost: left)
                body = .fixed(left - piece.count)
                return piece
            case .untilEnd:
                // Everything up to the limit is handed on before the error, however the bytes were cut.
                let left = max(0, bodyBytesMax - bodyBytes)
                guard left > 0 || availableBytes == 0 else { throw HTTPParseError(413, "the body is too large") }
                let piece = takeBodyPiece(atMost: left)
                if piece.isEmpty, hasEnded { return nil }
                return piece
            case .chunkSize:
                guard let line = try takeLine(bytesMax: WireLimits.httpChunkLineBytesMax) else { return [] }
                let size = try Self.chunkSize(line)
                guard size <= bodyBytesMax - bodyBytes else { throw HTTPParseError(413, "the body is too large") }
                body = size == 0 ? .trailer : .chunk(size)
            case .chunk(let left):
                guard left > 0 else {
                    body = .chunkEnd
                    continue
                }
                let piece = takeBodyPiece(atMost: left)
                body = .chunk(left - piece.count)
                return piece
            case .chunkEnd:
                guard availableBytes > 0 else { return [] }
                guard buffer[position] == ASCII.cr else { throw HTTPParseError(400, "a chunk is longer than its size") }
                guard availableBytes > 1 else { return [] }
                guard buffer[position + 1] == ASCII.lf else {
                    throw HTTPParseError(400, "a chunk is longer than its size")
                }
                position += 2
                body = .chunkSize
            case .trailer:
                let left = WireLimits.httpTrailerBytesMax - trailerBytes
                guard let line = try takeLine(bytesMax: left) else { return [] }
                trailerBytes += line.count + 2
                guard !line.isEmpty else {
                    body = .none
                    continue
                }
                // Checked and forgotten: a trailer must not change what the head has said (RFC 9110 §6.5).
                _ = try Self.fields([line])
            }
        }
    }

    private mutating func takeBodyPiece(atMost count: Int) -> [UInt8] {
        let taken = min(count, availableBytes, WireLimits.httpBodyEventBytesMax)
        bodyBytes += taken
        return take(taken)
    }

    /// The next line without its end.
    private mutating func takeLine(bytesMax: Int) throws(HTTPParseError) -> ArraySlice<UInt8>? {
        while position + scanned < buffer.count {
            let byte = buffer[position + scanned]
            let followsCR = scanned > 0 && buffer[position + scanned - 1] == ASCII.cr
            guard (byte == ASCII.lf) == followsCR else {
                throw HTTPParseError(400, "a line does not end in CR LF")
            }
            scanned += 1
            guard scanned <= bytesMax else { throw HTTPParseError(431, "a line between chunks is too long") }
            guard byte == ASCII.lf else { continue }
            let line = buffer[position..<(position + scanned - 2)]
            position += scanned
            scanned = 0
            return line
        }
        return nil
    }

    private static func chunkSize(_ line: ArraySlice<UInt8>) throws(HTTPParseError) -> Int {
        var size = 0
        var digits = 0
        var rest = line
        while let byte = rest.first, let value = ASCII.hexValue(byte) {
            digits += 1
            guard digits <= 15 else { throw HTTPParseError(413, "a chunk is too large") }
            size = size << 4 | Int(value)
            rest.removeFirst()
        }
        guard digits > 0 else { throw HTTPParseError(400, "a chunk has no size") }
        if let byte = rest.first {
            guard byte == UInt8(ascii: ";"), rest.allSatisfy(ASCII.isFieldValue) else {
                throw HTTPParseError(400, "a chunk's size is not a hexadecimal number")
            }
        }
        return size
    }
}
