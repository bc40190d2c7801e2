import CZlib

/// Raw DEFLATE with one context for everything that one direction sends (blip.md §8).
///
/// Owns its `z_stream` (whose address zlib keeps, hence on the heap) from `init` to `deinit`.
final class BLIPDeflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var output = [UInt8](repeating: 0, count: WireLimits.blipBigFrameBytes + 256)

    init(level: Int32) throws(BLIPError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard kith_deflate_init_raw(stream, level, WireLimits.blipCompressionMemoryLevel) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// The most input that is sure to fit into `room` bytes, sync flush included. zlib's bound for this memory level is
    /// the length plus a 4,096th, a 16,384th and 7, and a flush adds at most 6.
    static func inputBytes(fittingIn room: Int) -> Int {
        max(1, room - room >> 10 - 24)
    }

    /// Compresses `input` with a sync flush at its end and appends everything, the flush's `00 00 FF FF` included.
    func deflate(_ input: UnsafeRawBufferPointer, to out: inout [UInt8]) {
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: Bytef.self))
        stream.pointee.avail_in = uInt(input.count)
        var isOutputFull = true
        while isOutputFull {
            output.withUnsafeMutableBufferPointer { buffer in
                stream.pointee.next_out = buffer.baseAddress
                stream.pointee.avail_out = uInt(buffer.count)
                // Only Z_OK and, when a full buffer had left nothing to do, Z_BUF_ERROR can come back here.
                _ = CZlib.deflate(stream, Z_SYNC_FLUSH)
                let written = buffer.count - Int(stream.pointee.avail_out)
                out.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<written]))
                isOutputFull = stream.pointee.avail_out == 0
            }
        }
        stream.pointee.next_in = nil
    }
}
