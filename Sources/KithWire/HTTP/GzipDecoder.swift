import CZlib

/// Unpacks gzip (RFC 1952) as it comes, in bounded memory: what CouchDB sends of attachments that it keeps packed.
public final class GzipDecoder {
    private let stream: UnsafeMutablePointer<z_stream>
    /// Whether the packed stream has ended.
    public private(set) var isAtEnd = false

    /// A decoder at the beginning of a stream.
    ///
    /// - Throws: ``HTTPParseError`` when there is no memory.
    public init() throws(HTTPParseError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard kith_inflate_init_gzip(stream) == Z_OK else {
            stream.deallocate()
            throw HTTPParseError(413, "there is no memory to unpack gzip")
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Begins to unpack the next bytes, which `next()` then gives piece by piece.
    public func receive(_ bytes: [UInt8]) {
        input = bytes
        taken = 0
    }

    private var input: [UInt8] = []
    private var taken = 0

    /// The next piece, at most 64 KiB however well it was packed; `nil` when more bytes must come first.
    ///
    /// - Throws: ``HTTPParseError`` when the bytes are not gzip, or something follows its end.
    public func next() throws(HTTPParseError) -> [UInt8]? {
        guard !isAtEnd else {
            guard taken == input.count else { throw HTTPParseError(400, "something follows the end of gzip") }
            return nil
        }
        var result = Z_OK
        var used = 0
        let piece = [UInt8](unsafeUninitializedCapacity: WireLimits.httpBodyEventBytesMax) { buffer, count in
            input.withUnsafeMutableBytes { bytes in
                let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[taken...])
                stream.pointee.next_in = rest.baseAddress?.assumingMemoryBound(to: Bytef.self)
                stream.pointee.avail_in = uInt(rest.count)
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = uInt(buffer.count)
                result = CZlib.inflate(stream, Z_NO_FLUSH)
                used = rest.count - Int(stream.pointee.avail_in)
                count = buffer.count - Int(stream.pointee.avail_out)
            }
        }
        taken += used
        switch result {
        case Z_STREAM_END: isAtEnd = true
        case Z_OK, Z_BUF_ERROR: break
        default: throw HTTPParseError(400, "the bytes are not gzip")
        }
        if piece.isEmpty { return isAtEnd ? try next() : nil }
        return piece
    }
}
