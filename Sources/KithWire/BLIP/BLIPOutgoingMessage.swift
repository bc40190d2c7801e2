/// A message of which frames are still to be sent.
final class BLIPOutgoingMessage {
    private let properties: BLIPProperties
    private let lengthByteCount: Int
    /// The bytes of the body that are at hand, or the first of them; those before `bodyOffset` are in frames already.
    private var body: [UInt8]
    private var bodyOffset = 0
    /// The pieces of a pulled body that follow `body`, none of them empty. Pieces stay as they came: large ones are not moved.
    private var following: [[UInt8]] = []
    private var followingByteCount = 0
    /// Plain bytes already put into frames, of the length and the properties.
    private var headOffset = 0
    /// Bytes of a pulled body that its owner still has to hand over.
    private(set) var outstandingByteCount = 0
    /// Under which tag its owner knows a body that is handed over piece by piece.
    let pullTag: UInt64?
    /// Whether the owner was asked for a piece of a pulled body and has not handed it over.
    var isPieceAwaited = false
    /// Whether all bytes at hand are in frames and more are to come: it is in no queue then.
    var isStarved = false
    /// Whether the response to this request is handed out as it comes.
    let streamsResponse: Bool

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

    init(
        _ message: BLIPOutgoing, type: UInt64, number: UInt64, isUrgent: Bool, tag: UInt64, pullTag: UInt64? = nil,
        outstandingByteCount: Int = 0, streamsResponse: Bool = false
    ) {
        properties = message.properties
        body = message.body
        lengthByteCount = Varint.byteCount(UInt64(message.properties.block.count))
        self.type = type
        self.number = number
        self.isUrgent = isUrgent
        self.isNoReply = message.isNoReply && type == BLIPFlags.typeRequest
        self.isCompressed = message.isCompressed
        self.tag = tag
        self.pullTag = pullTag
        self.outstandingByteCount = outstandingByteCount
        self.streamsResponse = streamsResponse
    }

    var key: BLIPMessageKey {
        BLIPMessageKey(number: number, isResponse: type != BLIPFlags.typeRequest)
    }

    private var headByteCount: Int { lengthByteCount + properties.block.count }
    /// The bytes at hand that are in no frame yet.
    var availableByteCount: Int { headByteCount - headOffset + body.count - bodyOffset + followingByteCount }
    /// The bytes that are in no frame yet, those included that are still to be handed over.
    var remainingByteCount: Int { availableByteCount + outstandingByteCount }

    /// Whether the peer must acknowledge more before the next frame.
    var isOverWindow: Bool {
        sentBytes - acknowledgedBytes >= UInt64(WireLimits.blipUnacknowledgedBytesMax)
    }

    /// Takes the next bytes of a pulled body; what is beyond its announced length is left out.
    func add(_ bytes: [UInt8]) {
        let taken = min(bytes.count, outstandingByteCount)
        guard taken > 0 else { return }
        outstandingByteCount -= taken
        let piece = taken == bytes.count ? bytes : Array(bytes[..<taken])
        if bodyOffset == body.count {
            body = piece
            bodyOffset = 0
            return
        }
        followingByteCount += taken
        if let last = following.indices.last, following[last].count + taken <= WireLimits.blipBigFrameBytes {
            // So that an owner with very small pieces makes no long list of them.
            following[last] += piece
        } else {
            following.append(piece)
        }
    }

    /// Lets a pulled body end with the bytes at hand.
    func cutShort() { outstandingByteCount = 0 }

    /// Appends the next `count` plain bytes (at most ``availableByteCount``).
    func appendNext(_ count: Int, to out: inout [UInt8]) {
        var left = count
        if headOffset == 0 {
            // The length is never split: the peer needs all of it in the first frame.
            Varint.append(UInt64(properties.block.count), to: &out)
            headOffset = lengthByteCount
            left -= lengthByteCount
        }
        if left > 0, headOffset < headByteCount {
            let blockOffset = headOffset - lengthByteCount
            let taken = min(left, properties.block.count - blockOffset)
            out.append(contentsOf: properties.block[blockOffset..<(blockOffset + taken)])
            headOffset += taken
            left -= taken
        }
        while left > 0 {
            let taken = min(left, body.count - bodyOffset)
            out.append(contentsOf: body[bodyOffset..<(bodyOffset + taken)])
            bodyOffset += taken
            left -= taken
            if bodyOffset == body.count, !following.isEmpty {
                // A few at most: a piece is asked for when little is at hand.
                body = following.removeFirst()
                followingByteCount -= body.count
                bodyOffset = 0
            }
        }
    }
}
