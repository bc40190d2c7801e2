/// Writes a body whose length is not known beforehand, with `Transfer-Encoding: chunked` (RFC 9112 §7.1).
public enum HTTPChunks {
    /// Appends a chunk. Nothing for no bytes: an empty chunk would end the body.
    public static func append(_ bytes: [UInt8], to out: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        out.append(contentsOf: String(bytes.count, radix: 16).utf8)
        out.append(contentsOf: "\r\n".utf8)
        out.append(contentsOf: bytes)
        out.append(contentsOf: "\r\n".utf8)
    }

    /// Appends the end of the body.
    public static func appendEnd(to out: inout [UInt8]) {
        out.append(contentsOf: "0\r\n\r\n".utf8)
    }
}
