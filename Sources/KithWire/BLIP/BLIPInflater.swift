import CZlib

/// Raw INFLATE with one context for everything that one direction receives (blip.md §8).
///
/// Owns its `z_stream` (whose address zlib keeps, hence on the heap) and its buffers from `init` to `deinit`.
final class BLIPInflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer
    /// `00 00 FF FF`, which ends every sync flush and does not travel.
    private let trailer: UnsafeMutableRawBufferPointer

    init() throws(BLIPError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard kith_inflate_init_raw(stream) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
        output = .allocate(byteCount: WireLimits.blipInflateBufferBytes, alignment: 16)
        trailer = .allocate(byteCount: 4, alignment: 1)
        trailer.copyBytes(from: [0x00, 0x00, 0xFF, 0xFF])
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
        trailer.deallocate()
    }

    /// Inflates the payload of one frame, with the trailer that the sender cut off put back, and hands it on in pieces.
    ///
    /// - Throws: ``BLIPError/inflateFailed``, ``BLIPError/inflatedFrameTooLarge(limitBytes:)``, or what `body` throws.
    func inflate(
        _ payload: UnsafeRawBufferPointer, limitBytes: Int,
        _ body: (UnsafeRawBufferPointer) throws(BLIPError) -> Void
    ) throws(BLIPError) {
        // The trailer alone is no block: a frame without payload has nothing to inflate.
        guard payload.count > 0 else { return }
        var total = 0
        try run(payload, total: &total, limitBytes: limitBytes, body)
        try run(UnsafeRawBufferPointer(trailer), total: &total, limitBytes: limitBytes, body)
    }

    private func run(
        _ input: UnsafeRawBufferPointer, total: inout Int, limitBytes: Int,
        _ body: (UnsafeRawBufferPointer) throws(BLIPError) -> Void
    ) throws(BLIPError) {
        guard let base = input.baseAddress, input.count > 0 else { return }
        stream.pointee.next_in = UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: Bytef.self))
        stream.pointee.avail_in = uInt(input.count)
        while true {
            stream.pointee.next_out = output.baseAddress?.assumingMemoryBound(to: Bytef.self)
            stream.pointee.avail_out = uInt(output.count)
            let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
            // Z_BUF_ERROR says only that there was nothing left to do. Z_STREAM_END would leave no context for the
            // next frame: no sender of BLIP ends its stream.
            guard result == Z_OK || result == Z_BUF_ERROR else { throw .inflateFailed }
            let produced = output.count - Int(stream.pointee.avail_out)
            total += produced
            guard total <= limitBytes else { throw .inflatedFrameTooLarge(limitBytes: limitBytes) }
            if produced > 0 { try body(UnsafeRawBufferPointer(rebasing: output[..<produced])) }
            if stream.pointee.avail_out > 0 { break }
        }
        guard stream.pointee.avail_in == 0 else { throw .inflateFailed }
    }
}
