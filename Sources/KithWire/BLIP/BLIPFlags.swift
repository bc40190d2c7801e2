/// The flags of a frame (blip.md §5.1). Bits that have no meaning are ignored.
struct BLIPFlags {
    static let typeMask: UInt64 = 0x07
    static let compressed: UInt64 = 0x08
    static let urgent: UInt64 = 0x10
    static let noReply: UInt64 = 0x20
    static let moreComing: UInt64 = 0x40

    static let typeRequest: UInt64 = 0
    static let typeResponse: UInt64 = 1
    static let typeError: UInt64 = 2
    static let typeRequestACK: UInt64 = 4
    static let typeResponseACK: UInt64 = 5

    let bits: UInt64

    @inline(__always) var type: UInt64 { bits & Self.typeMask }
    @inline(__always) var isCompressed: Bool { bits & Self.compressed != 0 }
    @inline(__always) var isUrgent: Bool { bits & Self.urgent != 0 }
    @inline(__always) var isNoReply: Bool { bits & Self.noReply != 0 }
    @inline(__always) var hasMoreComing: Bool { bits & Self.moreComing != 0 }

    var kind: BLIPMessage.Kind {
        switch type {
        case Self.typeResponse: .response
        case Self.typeError: .error
        default: .request
        }
    }
}
