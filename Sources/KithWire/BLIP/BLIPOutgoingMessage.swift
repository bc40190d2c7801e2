/// A message of which frames are still to be sent.
final class BLIPOutgoingMessage {
    private let properties: BLIPProperties
    private let body: [UInt8]
    private let lengthByteCount: Int
    /// Plain bytes already put into frames; counts the length, the properties and the body.
    private var offset = 0

    let type: UInt64
    let isUrgent: Bool
    let isNoReply: Bool
    let isCompressed: Bool
    /// What the sender of a request wants back with the response.
    let tag: UInt64
    /// 0 until a request's first frame is written; the request's number in a response.
    var number: UInt64
    /// Whether a frame has been written.
    var hasStarted = false
    /// Bytes after the header as they were sent, checksums included.
    var sentBytes: UInt64 = 0
    /// Of ``sentBytes``, how many the peer has acknowledged.
    var acknowledgedBytes: UInt64 = 0

    init(_ message: BLIPOutgoing, type: UInt64, number: UInt64, isUrgent: Bool, tag: UInt64) {
        properties = message.properties
        body = message.body
        lengthByteCount = Varint.byteCount(UInt64(message.properties.block.count))
        self.type = type
        self.number = number
        self.isUrgent = isUrgent
        self.isNoReply = message.isNoReply && type == BLIPFlags.typeRequest
        self.isCompressed = message.isCompressed
        self.tag = tag
    }

    var key: BLIPMessageKey {
        BLIPMessageKey(number: number, isResponse: type != BLIPFlags.typeRequest)
    }

    var totalByteCount: Int { lengthByteCount + properties.block.count + body.count }
    var remainingByteCount: Int { totalByteCount - offset }

    /// Whether the peer must acknowledge more before the next frame.
    var isOverWindow: Bool {
        sentBytes - acknowledgedBytes >= UInt64(WireLimits.blipUnacknowledgedBytesMax)
    }

    /// Appends the next `count` plain bytes (at most ``remainingByteCount``).
    func appendNext(_ count: Int, to out: inout [UInt8]) {
        var left = count
        if offset == 0 {
            // The length is never split: the peer needs all of it in the first frame.
            Varint.append(UInt64(properties.block.count), to: &out)
            offset = lengthByteCount
            left -= lengthByteCount
        }
        let blockOffset = offset - lengthByteCount
        if left > 0, blockOffset < properties.block.count {
            let taken = min(left, properties.block.count - blockOffset)
            out.append(contentsOf: properties.block[blockOffset..<(blockOffset + taken)])
            offset += taken
            left -= taken
        }
        if left > 0 {
            let bodyOffset = offset - lengthByteCount - properties.block.count
            out.append(contentsOf: body[bodyOffset..<(bodyOffset + left)])
            offset += left
        }
    }
}
