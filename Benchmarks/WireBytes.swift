import CLinux
import Glibc

/// What TCP connections of this process have sent and received, as the kernel counts it (tcp(7), TCP_INFO).
enum WireBytes {
    /// Header of an IPv4 packet and of a TCP segment with time stamps.
    private static let headerBytes: UInt64 = 20 + 32

    /// Bytes over all TCP connections that are open now, in both directions, with the headers of their packets.
    static var total: UInt64 {
        var total: UInt64 = 0
        for descriptor in 0..<Int32(256) {
            var info = [UInt8](repeating: 0, count: 256)
            var count = socklen_t(info.count)
            // Fails for whatever is no TCP socket.
            guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &count) == 0, count >= 144,
                info[0] == 1  // TCP_ESTABLISHED
            else { continue }
            info.withUnsafeBytes { bytes in
                // struct tcp_info of linux/tcp.h: bytes_acked, bytes_received, segs_out, segs_in.
                total += bytes.loadUnaligned(fromByteOffset: 120, as: UInt64.self)
                total += bytes.loadUnaligned(fromByteOffset: 128, as: UInt64.self)
                let packets =
                    bytes.loadUnaligned(fromByteOffset: 136, as: UInt32.self)
                    &+ bytes.loadUnaligned(fromByteOffset: 140, as: UInt32.self)
                total += UInt64(packets) * headerBytes
            }
        }
        return total
    }
}
