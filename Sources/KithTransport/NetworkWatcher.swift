import CLinux
import Glibc
import KithDocuments

/// Tells when this machine is on a network that it was not on before: an address has come, or its interface has got a carrier.
///
/// What the kernel says (rtnetlink(7)) is only taken as a sign to look, so a message that was lost or not understood costs
/// nothing.
@LoopActor
public final class NetworkWatcher: DescriptorHandler {
    private let socket: OwnedDescriptor
    private var known = NetworkAddresses.current()
    private var timer: LoopTimer?
    private var onCame: (([String]) -> Void)?

    /// Begins to watch.
    ///
    /// - Parameter onCame: gets what has come, each as `INTERFACE ADDRESS`.
    /// - Throws: `.inputOutput` when the kernel does not let it.
    public init(onCame: @escaping ([String]) -> Void) throws(KithError) {
        socket = OwnedDescriptor(kith_network_changes())
        guard socket.number >= 0 else {
            throw KithError(.inputOutput, "no socket for changes of the network: \(errorText(errno))")
        }
        self.onCame = onCame
        try EventLoop.shared.watch(socket.number, self)
        // What has come since the first look and before the kernel told of changes.
        lookSoon()
    }

    /// Whether one of these numeric addresses is this machine's now.
    public nonisolated static func isOfThisMachine(_ addresses: [String]) -> Bool {
        NetworkAddresses.current().contains(anyOf: addresses)
    }

    /// The numeric addresses of this machine at which others may reach it now, IPv4 first; loopback and those that are good on one link
    /// only are left out.
    public nonisolated static var reachableAddresses: [String] { NetworkAddresses.current().reachable }

    /// Ends it; nothing is told any more.
    public func close() {
        guard socket.number >= 0 else { return }
        EventLoop.shared.unwatch(socket.number)
        socket.close()
        timer?.cancel()
        timer = nil
        onCame = nil
    }

    func handleEvents(_ events: UInt32) {
        var bytes = [UInt8](repeating: 0, count: 16 * 1024)
        // Also where messages were lost (ENOBUFS) there is something to see; the loop ends with EAGAIN, or goes on with the
        // next event.
        for _ in 0..<64 where recv(socket.number, &bytes, bytes.count, 0) <= 0 && errno == EAGAIN { break }
        lookSoon()
    }

    private func lookSoon() {
        guard timer == nil else { return }
        timer = EventLoop.shared.schedule(afterSeconds: TransportLimits.networkSettleSeconds) { [weak self] in
            guard let self else { return }
            timer = nil
            look()
        }
    }

    private func look() {
        let now = NetworkAddresses.current()
        let came = now.came(since: known)
        known = now
        if !came.isEmpty { onCame?(came) }
    }
}
