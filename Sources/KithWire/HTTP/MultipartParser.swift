/// Reads a body of several parts, `multipart/…` (RFC 2046 §5.1), in bounded memory, without input and output.
///
/// Give it bytes with ``receive(_:)`` and take events until there is none. A part may hold another such body, which takes
/// a parser of its own.
public struct MultipartParser: Sendable {
    private enum State { case preamble, headers, body, afterDelimiter, done }

    /// CR LF, two dashes and the boundary.
    private let delimiter: [UInt8]
    private var buffer: [UInt8]
    private var position = 0
    private var state = State.preamble
    private var owesPartEnd = false
    private var failure: HTTPParseError?

    /// A parser for the boundary that `Content-Type` names.
    ///
    /// - Throws: ``HTTPParseError`` when the boundary is not 1 to 70 printable characters.
    public init(boundary: String) throws(HTTPParseError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw HTTPParseError(400, "the boundary of a multipart body is not 1 to 70 printable characters")
        }
        delimiter = Array("\r\n--".utf8) + Array(boundary.utf8)
        // The first delimiter may be the first line.
        buffer = [ASCII.cr, ASCII.lf]
    }

    /// Takes the next bytes.
    public mutating func receive(_ bytes: [UInt8]) {
        if position > WireLimits.httpBodyEventBytesMax {
            buffer.removeFirst(position)
            position = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Whether the last part has ended.
    public var isAtEnd: Bool { state == .done && !owesPartEnd }

    /// The next event; `nil` when more bytes must come first.
    ///
    /// - Throws: ``HTTPParseError``, and the same at every later call.
    public mutating func nextEvent() throws(HTTPParseError) -> MultipartEvent? {
        if let failure { throw failure }
        do throws(HTTPParseError) {
            return try readEvent()
        } catch {
            failure = error
            throw error
        }
    }

    private mutating func readEvent() throws(HTTPParseError) -> MultipartEvent? {
        while true {
            switch state {
            case .preamble:
                guard let start = find(delimiter) else {
                    position = max(position, buffer.count - delimiter.count + 1)
                    return nil
                }
                position = start + delimiter.count
                state = .afterDelimiter
            case .afterDelimiter:
                if owesPartEnd {
                    owesPartEnd = false
                    return .partEnd
                }
                guard let isLast = try takeDelimiterEnd() else { return nil }
                state = isLast ? .done : .headers
                if isLast { return .end }
            case .headers:
                guard let headers = try takeHeaders() else { return nil }
                state = .body
                return .part(headers)
            case .body:
                if let start = find(delimiter) {
                    let piece = Array(buffer[position..<start])
                    position = start + delimiter.count
                    state = .afterDelimiter
                    owesPartEnd = true
                    if !piece.isEmpty { return .body(piece) }
                    continue
                }
                // What may be the beginning of a delimiter waits for more.
                let end = buffer.count - delimiter.count + 1
                guard end > position else { return nil }
                let piece = Array(buffer[position..<end])
                position = end
                return .body(piece)
            case .done:
                buffer = []
                position = 0
                return nil
            }
        }
    }

    /// Behind a delimiter: two dashes after the last, blanks and a line end after the others.
    private mutating func takeDelimiterEnd() throws(HTTPParseError) -> Bool? {
        var next = position
        guard next + 1 < buffer.count else { return nil }
        if buffer[next] == UInt8(ascii: "-"), buffer[next + 1] == UInt8(ascii: "-") {
            position = next + 2
            return true
        }
        while next < buffer.count, buffer[next] == ASCII.space || buffer[next] == ASCII.tab { next += 1 }
        guard next - position <= WireLimits.httpChunkLineBytesMax else {
            throw HTTPParseError(400, "a delimiter of a multipart body is followed by too many blanks")
        }
        guard next + 1 < buffer.count else { return nil }
        guard buffer[next] == ASCII.cr, buffer[next + 1] == ASCII.lf else {
            throw HTTPParseError(400, "a delimiter of a multipart body is not followed by a line end")
        }
        // Its line end stays, so that a part without fields is found by its empty line as any other.
        position = next
        return false
    }

    private mutating func takeHeaders() throws(HTTPParseError) -> HTTPHeaders? {
        guard let end = find([ASCII.cr, ASCII.lf, ASCII.cr, ASCII.lf]) else {
            guard buffer.count - position <= WireLimits.httpTrailerBytesMax else {
                throw HTTPParseError(431, "the fields of a part are too long")
            }
            return nil
        }
        guard end - position <= WireLimits.httpTrailerBytesMax else {
            throw HTTPParseError(431, "the fields of a part are too long")
        }
        var lines: [ArraySlice<UInt8>] = []
        var start = position + 2
        while start < end {
            var next = start
            while next < end, buffer[next] != ASCII.cr { next += 1 }
            guard next == end || buffer[next + 1] == ASCII.lf else {
                throw HTTPParseError(400, "a line does not end in CR LF")
            }
            lines.append(buffer[start..<next])
            start = next + 2
        }
        position = end + 4
        return try HTTPInput.fields(lines[...])
    }

    private func find(_ pattern: [UInt8]) -> Int? {
        guard buffer.count - position >= pattern.count else { return nil }
        return buffer.withUnsafeBytes { bytes in
            let last = bytes.count - pattern.count
            var place = position
            while place <= last {
                if bytes[place] == ASCII.cr, pattern.indices.allSatisfy({ bytes[place + $0] == pattern[$0] }) {
                    return place
                }
                place += 1
            }
            return nil
        }
    }
}
