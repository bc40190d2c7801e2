import CLinux
import Glibc
import KithDocuments

extension SocketAddress {
    /// `AF_INET` or `AF_INET6`; the host must not be a name.
    var family: Int32 {
        if case .ipv4 = hostValue { return AF_INET }
        return AF_INET6
    }

    /// Calls `body` with the address in the kernel's form.
    ///
    /// - Throws: `.connectionLost` when the scope names an interface that is not there (now), or the host is a name.
    func withSockaddr<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) throws(KithError) -> T {
        var storage = sockaddr_storage()
        var length = 0
        switch hostValue {
        case .ipv4(let bytes):
            length = MemoryLayout<sockaddr_in>.size
            withUnsafeMutableBytes(of: &storage) { raw in
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = port.bigEndian
                withUnsafeMutableBytes(of: &address.sin_addr) { $0.copyBytes(from: bytes) }
                raw.storeBytes(of: address, as: sockaddr_in.self)
            }
        case .ipv6(let bytes, let scope):
            length = MemoryLayout<sockaddr_in6>.size
            var scopeID: UInt32 = 0
            if !scope.isEmpty {
                scopeID = if_nametoindex(scope)
                if scopeID == 0 { scopeID = UInt32(scope) ?? 0 }
                if scopeID == 0 {
                    throw KithError(.connectionLost, "There is no network interface \(quoted(scope)) for \(self)")
                }
            }
            withUnsafeMutableBytes(of: &storage) { raw in
                var address = sockaddr_in6()
                address.sin6_family = sa_family_t(AF_INET6)
                address.sin6_port = port.bigEndian
                address.sin6_scope_id = scopeID
                withUnsafeMutableBytes(of: &address.sin6_addr) { $0.copyBytes(from: bytes) }
                raw.storeBytes(of: address, as: sockaddr_in6.self)
            }
        case .name(let name):
            throw KithError(.connectionLost, "The host name \(quoted(name)) was not looked up")
        }
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
        }
    }

    /// Reads the kernel's form; `nil` for other families.
    init?(_ pointer: UnsafePointer<sockaddr>, length: socklen_t) {
        let raw = UnsafeRawPointer(pointer)
        switch Int32(pointer.pointee.sa_family) {
        case AF_INET where Int(length) >= MemoryLayout<sockaddr_in>.size:
            let address = raw.loadUnaligned(as: sockaddr_in.self)
            let bytes = withUnsafeBytes(of: address.sin_addr) { [UInt8]($0) }
            self.init(hostValue: .ipv4(bytes), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6 where Int(length) >= MemoryLayout<sockaddr_in6>.size:
            let address = raw.loadUnaligned(as: sockaddr_in6.self)
            let bytes = withUnsafeBytes(of: address.sin6_addr) { [UInt8]($0) }
            var scope = ""
            if address.sin6_scope_id != 0 {
                var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
                scope =
                    if_indextoname(address.sin6_scope_id, &name) == nil
                    ? String(address.sin6_scope_id)
                    : String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            }
            self.init(hostValue: Self.unmapped(bytes, scope: scope), port: UInt16(bigEndian: address.sin6_port))
        default:
            return nil
        }
    }

    /// The address of a socket's own or other end.
    static func of(_ descriptor: Int32, peer: Bool) -> SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                let result =
                    peer ? getpeername(descriptor, address, &length) : getsockname(descriptor, address, &length)
                return result == 0 ? SocketAddress(address, length: length) : nil
            }
        }
    }
}
