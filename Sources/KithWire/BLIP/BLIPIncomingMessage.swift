/// A message of which some frames have come and others have not.
final class BLIPIncomingMessage {
    let key: BLIPMessageKey
    let flags: BLIPFlags
    private let propertyByteCount: Int
    private var block: [UInt8] = []
    private var body: [UInt8] = []
    private var bodyByteCount = 0
    private let bodyBytesMax: Int

    /// Bytes after the header as they came over the wire, checksums included: what acknowledgements count.
    private(set) var receivedBytes: UInt64 = 0
    /// ``acknowledgeableBytes`` when an acknowledgement last became due.
    var acknowledgedBytes: UInt64 = 0
    /// Whether an acknowledgement is due and has not been sent.
    var isAcknowledgementDue = false

    /// The tag of the request, when the body is handed out as it comes.
    let streamTag: UInt64?
    /// Of a body that is handed out: how much was, and how much of that the owner is done with.
    private var handedOutBytes = 0
    private var consumedBytes = 0
    /// For each frame whose bytes are not all consumed: ``handedOutBytes`` and ``receivedBytes`` behind it.
    private var marks: [(handedOut: Int, received: UInt64)] = []
    private var consumedWireBytes: UInt64 = 0

    init(key: BLIPMessageKey, flags: BLIPFlags, propertyByteCount: Int, bodyBytesMax: Int, streamTag: UInt64? = nil) {
        self.key = key
        self.flags = flags
        self.propertyByteCount = propertyByteCount
        self.bodyBytesMax = streamTag == nil ? bodyBytesMax : .max
        self.streamTag = streamTag
    }

    /// What an acknowledgement may name: the bytes that came, or when they are handed out, those that were consumed.
    var acknowledgeableBytes: UInt64 { streamTag == nil ? receivedBytes : consumedWireBytes }

    /// Notes that a frame's bytes came, all of which have been appended.
    func count(wireBytes: Int) {
        receivedBytes += UInt64(wireBytes)
        guard streamTag != nil else { return }
        marks.append((handedOutBytes + body.count, receivedBytes))
        consume(0)
    }

    /// Takes the bytes out that are to be handed out now.
    func takeBody() -> [UInt8] {
        handedOutBytes += body.count
        defer { body = [] }
        return body
    }

    /// Notes that the owner is done with so many more bytes.
    func consume(_ count: Int) {
        consumedBytes += count
        while let first = marks.first, first.handedOut <= consumedBytes {
            consumedWireBytes = first.received
            marks.removeFirst()
        }
    }

    /// The memory that the message holds.
    var heldBytes: Int { block.count + body.count }

    /// Takes the next plain bytes: the rest of the properties first, then the body.
    func append(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        if block.count < propertyByteCount {
            let taken = min(rest.count, propertyByteCount - block.count)
            block.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<taken]))
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
        }
        guard rest.count > 0 else { return }
        bodyByteCount += rest.count
        if bodyByteCount > bodyBytesMax {
            body = []
        } else {
            body.append(contentsOf: rest)
        }
    }

    /// The whole message, after its last frame.
    func finish() throws(BLIPError) -> BLIPMessage {
        guard block.count == propertyByteCount, let properties = BLIPProperties(block: block) else {
            throw .malformedProperties(number: key.number)
        }
        return BLIPMessage(
            number: key.number, kind: flags.kind, isUrgent: flags.isUrgent, isNoReply: flags.isNoReply,
            properties: properties, body: body, droppedBodyBytes: bodyByteCount > bodyBytesMax ? bodyByteCount : 0)
    }
}
