import CLinux
import Glibc

/// The addresses at which this machine can be reached and from which it can reach others, now.
struct NetworkAddresses: Equatable {
    /// Each as `INTERFACE ADDRESS`, for people.
    var names: Set<String> = []

    /// Those of the interfaces that are up and have a carrier, without loopback.
    static func current() -> NetworkAddresses {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return NetworkAddresses() }
        defer { freeifaddrs(list) }  // the list is ours
        let wanted = UInt32(IFF_UP | IFF_RUNNING)
        var result = NetworkAddresses()
        var next = list
        while let entry = next?.pointee {
            next = entry.ifa_next
            guard entry.ifa_flags & wanted == wanted, entry.ifa_flags & UInt32(IFF_LOOPBACK) == 0,
                let address = entry.ifa_addr, let text = Self.text(address)
            else { continue }
            result.names.insert("\(String(cString: entry.ifa_name)) \(text)")
        }
        return result
    }

    /// What is here and was not there, in order.
    func came(since old: NetworkAddresses) -> [String] { names.subtracting(old.names).sorted() }

    /// Whether one of these is an address of this machine, loopback not counted.
    func contains(anyOf addresses: [String]) -> Bool {
        names.contains { name in addresses.contains { name.hasSuffix(" " + $0) } }
    }

    /// The addresses alone that others can use as they are: without those of IPv6 that are good on one link only, IPv4 first.
    var reachable: [String] {
        let all = names.sorted().compactMap { $0.split(separator: " ").last.map(String.init) }
        let others = all.filter { !$0.lowercased().hasPrefix("fe80:") }
        return others.filter { !$0.contains(":") } + others.filter { $0.contains(":") }
    }

    private static func text(_ address: UnsafeMutablePointer<sockaddr>) -> String? {
        let length =
            switch Int32(address.pointee.sa_family) {
            case AF_INET: MemoryLayout<sockaddr_in>.size
            case AF_INET6: MemoryLayout<sockaddr_in6>.size
            default: 0
            }
        guard length > 0 else { return nil }
        var host = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let code = getnameinfo(
            address, socklen_t(length), &host, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        return String(decoding: host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
