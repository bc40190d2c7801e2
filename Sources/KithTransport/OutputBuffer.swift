/// Bytes that wait to be sent, in one piece so that small writes leave together.
struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var head = 0

    var count: Int { bytes.count - head }
    var isEmpty: Bool { head == bytes.count }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }
    mutating func append(_ more: [UInt8]) {
        if bytes.isEmpty { bytes = more } else { bytes.append(contentsOf: more) }
    }

    /// Adds what `write` appends to the bytes that wait.
    mutating func append(writing write: (inout [UInt8]) -> Void) { write(&bytes) }

    /// The first bytes, at most `count`.
    func withFirst<T>(_ count: Int, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[head..<min(all.count, head + count)]))
        }
    }

    mutating func consume(_ count: Int) {
        head += count
        if head == bytes.count {
            head = 0
            bytes.removeAll(keepingCapacity: bytes.capacity <= TransportLimits.outputKeptBytesMax)
        } else if head >= TransportLimits.outputCompactionBytes, head > bytes.count / 2 {
            // At least as much was sent as is moved now, so each byte is moved at most once on average.
            bytes.removeFirst(head)
            head = 0
        }
    }
}
