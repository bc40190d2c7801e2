import CAvahi
import Glibc

/// The network interfaces of this machine.
enum NetworkInterfaces {
    /// The names of those that are up, have a carrier and can do multicast, in order; without loopback.
    static func multicastNames() -> [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }  // the list is ours
        let wanted = UInt32(IFF_UP | IFF_RUNNING | IFF_MULTICAST)
        let unwanted = UInt32(IFF_LOOPBACK)
        var names: Set<String> = []
        var next = list
        while let entry = next {
            let flags = entry.pointee.ifa_flags
            if flags & wanted == wanted && flags & unwanted == 0 {
                names.insert(String(cString: entry.pointee.ifa_name))
            }
            next = entry.pointee.ifa_next
        }
        return names.sorted()
    }

    /// The name of an interface, or `#NUMBER` when it is gone.
    static func name(_ index: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
        guard index > 0, if_indextoname(UInt32(index), &buffer) != nil else { return "#\(index)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
