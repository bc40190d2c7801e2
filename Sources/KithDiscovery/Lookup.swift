/// The looking up of one service: its Avahi objects, and the context of their callbacks.
///
/// `AvahiSession.lookups` owns it, and frees the Avahi objects before it lets go of it.
final class Lookup {
    /// The session that owns this, which lives longer.
    unowned let session: AvahiSession
    let key: ServiceTable.Key
    let target: ServiceTable.Target
    /// Answers the host's name, the port and the TXT record, and again when one of them changes.
    var resolver: OpaquePointer?
    /// Answer the A and AAAA records of the host.
    var addressBrowsers: [OpaquePointer] = []
    /// The host whose addresses are asked for.
    var hostName: [UInt8] = []
    /// When to ask again after a failure, in milliseconds of the monotonic clock.
    var retryAt: Int64?
    var backoff = Backoff()

    init(session: AvahiSession, key: ServiceTable.Key, target: ServiceTable.Target) {
        self.session = session
        self.key = key
        self.target = target
    }
}
