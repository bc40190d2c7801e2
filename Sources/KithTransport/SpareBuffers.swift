/// Large buffers that the TLS connections of the loop lend each other: one that has something to read or write takes one, and
/// gives it back when it is empty, so that connections at rest hold none.
///
/// Not Sendable: made and used on the loop alone.
final class SpareBuffers {
    private var read: [UInt8] = []
    private var write: [UInt8] = []

    /// Makes an array one of ``TransportLimits/readAheadBytes`` bytes; what is in it is lost.
    func takeReadBuffer(_ buffer: inout [UInt8]) {
        buffer = []
        swap(&buffer, &read)
        if buffer.isEmpty { buffer = [UInt8](repeating: 0, count: TransportLimits.readAheadBytes) }
    }

    /// Takes an array back, which is empty then.
    func giveReadBuffer(_ buffer: inout [UInt8]) {
        if buffer.count == TransportLimits.readAheadBytes { swap(&buffer, &read) }
        buffer = []
    }

    /// Gives an empty array room.
    func takeWriteBuffer(_ buffer: inout [UInt8]) {
        swap(&buffer, &write)
        buffer.reserveCapacity(TransportLimits.gatheredBytesMax + TransportLimits.tlsRecordBytesMax)
    }

    /// Takes an array back, which is empty then.
    func giveWriteBuffer(_ buffer: inout [UInt8]) {
        buffer.removeAll(keepingCapacity: true)
        swap(&buffer, &write)
        buffer = []
    }
}
