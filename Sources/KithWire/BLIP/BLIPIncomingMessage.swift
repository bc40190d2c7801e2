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
    var receivedBytes: UInt64 = 0
    /// ``receivedBytes`` when an acknowledgement last became due.
    var acknowledgedBytes: UInt64 = 0
    /// Whether an acknowledgement is due and has not been sent.
    var isAcknowledgementDue = false

    init(key: BLIPMessageKey, flags: BLIPFlags, propertyByteCount: Int, bodyBytesMax: Int) {
        self.key = key
        self.flags = flags
        self.propertyByteCount = propertyByteCount
        self.bodyBytesMax = bodyBytesMax
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
