import CLinux
import Glibc
import KithDocuments
import Synchronization

/// Looks host names up with the system's resolver (`getaddrinfo`, so also `/etc/hosts` and `.local` names), which
/// blocks: each lookup has a thread of its own, a few at a time.
final class NameResolver: Sendable {
    static let shared = NameResolver()

    typealias Completion = @LoopActor @Sendable (Result<[SocketAddress], KithError>) -> Void

    private struct State {
        var running = 0
        var waiting: [@Sendable () -> Void] = []
    }
    private let state = Mutex(State())

    /// Looks `address.host` up and calls `completion` on the loop with the addresses, in the system's order.
    func resolve(_ address: SocketAddress, completion: @escaping Completion) {
        let lookup: @Sendable () -> Void = {
            let result = Result { () throws(KithError) in try Self.lookUp(address) }
            EventLoop.shared.post { completion(result) }
        }
        let mayStart = state.withLock { state in
            guard state.running < TransportLimits.lookupsMax else {
                state.waiting.append(lookup)
                return false
            }
            state.running += 1
            return true
        }
        if mayStart { start(lookup) }
    }

    private func start(_ lookup: @escaping @Sendable () -> Void) {
        // The box is retained for the thread, which takes that retain over.
        let box = Unmanaged.passRetained(LookupBox(lookup: lookup))
        if kith_start_thread(lookupThread, box.toOpaque()) != 0 {
            // No thread: a blocked loop is better than a dial that never ends.
            box.release()
            lookup()
            _ = next()
        }
    }

    /// The lookup that comes next on this thread, or `nil` when it shall end.
    func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.running -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private static func lookUp(_ address: SocketAddress) throws(KithError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(address.host, nil, &hints, &list)
        guard result == 0 else {
            throw KithError(
                .connectionLost,
                "The host name \(quoted(address.host)) is not known: \(String(cString: gai_strerror(result)))",
                remedy: "Check the name, or write the address in numbers")
        }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var entry = list
        while let info = entry?.pointee {
            if let pointer = info.ai_addr, let one = SocketAddress(pointer, length: info.ai_addrlen) {
                let complete = one.withPort(address.port)
                if !found.contains(complete) { found.append(complete) }
            }
            entry = info.ai_next
        }
        guard !found.isEmpty else {
            throw KithError(.connectionLost, "The host name \(quoted(address.host)) has no address")
        }
        return found
    }
}

private final class LookupBox: Sendable {
    let lookup: @Sendable () -> Void
    init(lookup: @escaping @Sendable () -> Void) { self.lookup = lookup }
}

/// The thread's function, free because C calls it.
private func lookupThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    kith_name_thread("kith-names")
    guard let argument else { return nil }
    var lookup: (@Sendable () -> Void)? = Unmanaged<LookupBox>.fromOpaque(argument).takeRetainedValue().lookup
    while let current = lookup {
        current()
        lookup = NameResolver.shared.next()
    }
    return nil
}
