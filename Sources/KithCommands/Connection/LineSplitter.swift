/// Cuts a stream of bytes into lines; the last one may end without a line feed.
struct LineSplitter {
    private var partial: [UInt8] = []
    private let lineBytesMax: Int

    init(lineBytesMax: Int) { self.lineBytesMax = lineBytesMax }

    /// Takes bytes and calls back with each complete line, without its line end. Too long a line is handed over cut
    /// off one byte above the limit, so that the caller can tell and say so.
    mutating func receive<E: Error>(_ bytes: some Collection<UInt8>, _ onLine: ([UInt8]) throws(E) -> Void) throws(E) {
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<end])
            rest = rest[rest.index(after: end)...]
            try flush(onLine)
        }
        append(rest)
    }

    /// Says that no more bytes come.
    mutating func finish<E: Error>(_ onLine: ([UInt8]) throws(E) -> Void) throws(E) {
        if !partial.isEmpty { try flush(onLine) }
    }

    private mutating func append(_ bytes: some Collection<UInt8>) {
        partial.append(contentsOf: bytes.prefix(max(0, lineBytesMax + 1 - partial.count)))
    }

    private mutating func flush<E: Error>(_ onLine: ([UInt8]) throws(E) -> Void) throws(E) {
        var line = partial
        partial.removeAll(keepingCapacity: true)
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        try onLine(line)
    }
}
