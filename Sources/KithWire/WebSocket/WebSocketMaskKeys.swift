import COpenSSL

/// The keys with which a client masks its frames (RFC 6455 §5.3): unpredictable, and made many at a time, since asking the
/// system for each frame's costs more than the rest of the frame.
final class WebSocketMaskKeys {
    private var keys: [UInt32] = []

    private static let keysPerCall = 256

    func next() -> UInt32 {
        if let key = keys.popLast() { return key }
        keys = [UInt32](repeating: 0, count: Self.keysPerCall)
        let isMade = keys.withUnsafeMutableBytes { bytes in
            RAND_bytes(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count)) == 1
        }
        guard isMade, let key = keys.popLast() else {
            keys = []
            return UInt32.random(in: 0...UInt32.max)
        }
        return key
    }
}
