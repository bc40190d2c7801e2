import CAvahi
import Glibc
import KithDocuments
import Synchronization

/// Finds other nodes on the network and makes this one findable, through the Avahi daemon (multicast DNS, RFC 6762 and
/// DNS-based service discovery, RFC 6763).
///
/// ```swift
/// let discovery = Discovery(
///     advertisement: ServiceAdvertisement(name: "kitchen-pi", port: 4984, nodeShortID: identity.nodeID.short)
/// ) { event in
///     if case .found(let node) = event, !node.isOwn { … }
/// }
/// try discovery.start()
/// …
/// discovery.stop()
/// ```
///
/// Works on every interface, over IPv4 and IPv6. Avahi and D-Bus may be absent, come later, and be restarted: discovery
/// says so in a `state` event and works again by itself, publishing and browsing once.
///
/// Events come one at a time on Avahi's own thread. The closure must be quick, and must not call `start` or `stop`.
///
/// What was found proves nothing about who is there: dial it, and let TLS and the book of peers decide. Avahi does not
/// notice a peer that died without saying goodbye before its records expire (up to 75 minutes).
public final class Discovery: Sendable {
    private let advertisement: ServiceAdvertisement
    private let onEvent: @Sendable (DiscoveryEvent) -> Void
    private let session = Mutex<AvahiSession?>(nil)

    /// Prepares discovery; nothing happens before `start()`.
    ///
    /// - Parameters:
    ///   - advertisement: what the node says about itself.
    ///   - onEvent: gets every event, on Avahi's thread.
    public init(advertisement: ServiceAdvertisement, onEvent: @escaping @Sendable (DiscoveryEvent) -> Void) {
        self.advertisement = advertisement
        self.onEvent = onEvent
    }

    deinit {
        session.withLock { session in
            session?.stopFromAnyThread()
            session = nil
        }
    }

    /// Starts Avahi's thread and returns at once; the first event is a `state`. Does nothing when it runs already.
    ///
    /// - Throws: `badConfiguration` when the short ID is none, the name is empty or the port is 0; `internal` when the
    ///   thread cannot be made.
    public func start() throws(KithError) {
        try session.withLock { session throws(KithError) in
            guard session == nil else { return }
            session = try AvahiSession.start(advertisement: advertisement, onEvent: onEvent)
        }
    }

    /// Takes the node off the network (with a goodbye) and ends Avahi's thread. No event comes after it has returned.
    /// Does nothing when it does not run. Not to be called from `onEvent`.
    public func stop() {
        session.withLock { session in
            session?.stop()
            session = nil
        }
    }
}
