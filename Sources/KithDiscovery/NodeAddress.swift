import Glibc

/// An address from an A or AAAA record (RFC 1035 §3.4.1, RFC 3596 §2.2).
package struct NodeAddress: Hashable, Comparable {
    /// Four bytes or sixteen, in network order.
    package let bytes: [UInt8]

    /// Takes a record's data; `nil` when it is no address that a node can have: of another length, unspecified,
    /// broadcast, multicast, IPv4 inside IPv6, or loopback seen on a real network.
    package init?(recordData bytes: [UInt8], onLoopback: Bool) {
        switch bytes.count {
        case 4:
            guard bytes[0] != 0, bytes[0] < 224 else { return nil }
            guard bytes[0] != 127 || onLoopback else { return nil }
        case 16:
            guard bytes[0] != 0xFF else { return nil }
            let isLow = bytes.prefix(10).allSatisfy { $0 == 0 }  // ::, ::1, ::ffff:a.b.c.d and the old ::a.b.c.d
            let isLoopback = bytes.prefix(15).allSatisfy { $0 == 0 } && bytes[15] == 1
            guard !isLow || (isLoopback && onLoopback) else { return nil }
        default:
            return nil
        }
        self.bytes = bytes
    }

    /// fe80::/10: means something only together with an interface (RFC 4007 §11).
    var isLinkLocal: Bool { bytes.count == 16 && bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 }

    /// The text, with `%interface` for a link-local address.
    package func text(interface: String) -> String {
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        inet_ntop(family, bytes, &buffer, socklen_t(buffer.count))
        let text = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return isLinkLocal ? text + "%" + interface : text
    }

    /// IPv4, then IPv6, then link-local IPv6, each by its bytes.
    package static func < (a: NodeAddress, b: NodeAddress) -> Bool {
        func rank(_ address: NodeAddress) -> Int { address.isLinkLocal ? 2 : address.bytes.count == 4 ? 0 : 1 }
        return rank(a) != rank(b) ? rank(a) < rank(b) : a.bytes.lexicographicallyPrecedes(b.bytes)
    }
}
