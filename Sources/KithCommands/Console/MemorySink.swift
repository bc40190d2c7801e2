/// Keeps what was printed, for tests.
final class MemorySink: OutputSink {
    private(set) var bytes: [UInt8] = []

    func write(_ bytes: some Sequence<UInt8>) throws { self.bytes.append(contentsOf: bytes) }

    var text: String { String(decoding: bytes, as: UTF8.self) }
}
