import Glibc

/// Which requests to pair there is room for, so that one machine that asks all the time does not keep others out.
enum PairingRoom {
    /// What happens when one more comes.
    enum Verdict: Equatable {
        case room
        /// The request at this place gives way.
        case replace(Int)
        /// A person is busy with all of them.
        case full
    }

    /// One request that is under way.
    struct Request {
        /// See `group(ofAddress:)`.
        var group: String
        /// Whether no person has had to do with it.
        var isUnheeded: Bool
    }

    /// - Parameter requests: those under way, oldest first.
    static func verdict(_ requests: [Request], newcomer: String) -> Verdict {
        let own = requests.indices.filter { requests[$0].group == newcomer }
        if own.count >= NodeLimits.pairingsPerAddressMax {
            return own.first { requests[$0].isUnheeded }.map { .replace($0) } ?? .full
        }
        guard requests.count >= NodeLimits.pairingsMax else { return .room }
        // The oldest of whoever has most.
        var counts: [String: Int] = [:]
        for request in requests { counts[request.group, default: 0] += 1 }
        let most = requests.indices.filter { requests[$0].isUnheeded }
            .max { a, b in
                let (countA, countB) = (counts[requests[a].group] ?? 0, counts[requests[b].group] ?? 0)
                return countA != countB ? countA < countB : a > b
            }
        return most.map { .replace($0) } ?? .full
    }

    /// What addresses of one machine have in common: the IPv4 address, or the first 64 bits of the IPv6 address, within
    /// which a machine gives itself as many as it likes (RFC 8981).
    ///
    /// - Parameter address: `HOST:PORT`, an IPv6 address in brackets.
    static func group(ofAddress address: String) -> String {
        var host = address.lastIndex(of: ":").map { String(address[..<$0]) } ?? address
        host.removeAll { $0 == "[" || $0 == "]" }
        let zone = host.firstIndex(of: "%").map { String(host[$0...]) } ?? ""
        if let percent = host.firstIndex(of: "%") { host = String(host[..<percent]) }
        var bytes = in6_addr()
        guard host.contains(":"), inet_pton(AF_INET6, host, &bytes) == 1 else { return host }
        return withUnsafeBytes(of: &bytes) { raw in
            // A link-local address has nothing in its first half that tells machines apart.
            let isLinkLocal = raw[0] == 0xfe && raw[1] & 0xc0 == 0x80
            return (isLinkLocal ? Array(raw) : Array(raw.prefix(8))).map { String($0, radix: 16) }.joined(
                separator: ".")
                + zone
        }
    }
}
