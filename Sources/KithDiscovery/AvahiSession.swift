import CAvahi
import Glibc
import KithDocuments
import Synchronization

/// One run of discovery, from `start` to `stop`: Avahi's thread and everything that lives on it.
///
/// ## Who owns what
///
/// - `poll` (the thread), `timer` (a timerfd) and its `watch` are made by `start` and freed by `stop` after the thread
///   was joined.
/// - `client` owns, in Avahi's memory, `group`, `browser` and all objects in `lookups`: `avahi_client_free` frees them with
///   it, and first closes the connection to D-Bus, so it does not wait for the daemon, which then takes the service off
///   the network.
/// - The context pointer of the client's, group's, browser's and timer's callbacks is this object, retained once by
///   `start` for as long as the thread runs and released by `stop`. The context of a look-up's callbacks is its `Lookup`,
///   which `lookups` owns; it is let go of only after its Avahi objects were freed.
///
/// ## Threads
///
/// Everything happens in callbacks on Avahi's thread, except `start`, which has done its part before the thread exists,
/// and the end of `stop`, which comes after it was joined. Objects are freed and made in the timer's callback only, never
/// inside a callback of the object itself.
// Sendable by what is said under "Threads": there is never a second thread inside.
final class AvahiSession: @unchecked Sendable {
    let advertisement: ServiceAdvertisement
    let shortID: String
    private let onEvent: @Sendable (DiscoveryEvent) -> Void

    private let poll: OpaquePointer
    private let timer: Int32
    private var watch: OpaquePointer?
    /// Avahi's thread, as soon as it has run; zero before. Read by other threads too.
    private let threadID = Atomic<pthread_t>(0)
    private var isStopped = false

    var client: OpaquePointer?
    var group: OpaquePointer?
    var browser: OpaquePointer?
    var table: ServiceTable
    var lookups: [ServiceTable.Key: Lookup] = [:]
    var lookupsToCheck: Set<ServiceTable.Key> = []

    /// The name that is published, or tried next; kept over restarts of the daemon.
    var serviceName: String
    /// How many names were taken since the client was made.
    var namesTaken = 0
    var isPublished = false
    private var lastState: DiscoveryState?
    private var lastNotPublished: String?
    private var backoff = Backoff()

    /// Deadlines in milliseconds of the monotonic clock, so that a change of the wall clock moves none of them.
    private var rebuildAt: Int64?
    private var checkLookupsAt: Int64?
    private var reportAt: Int64?
    private var reportAtLatest: Int64?

    /// Makes the thread; it builds the client as the first thing it does.
    static func start(
        advertisement: ServiceAdvertisement, onEvent: @escaping @Sendable (DiscoveryEvent) -> Void
    ) throws(KithError) -> AvahiSession {
        guard let shortID = ServiceText.shortID(advertisement.nodeShortID.utf8) else {
            throw KithError(.badConfiguration, "discovery needs the short form of the node ID")
        }
        guard !advertisement.name.isEmpty, advertisement.port != 0 else {
            throw KithError(.badConfiguration, "discovery needs a name and a port")
        }
        let timer = timerfd_create(CLOCK_MONOTONIC, Int32(TFD_CLOEXEC | TFD_NONBLOCK))
        guard timer >= 0 else { throw KithError(.internal, "no timer for discovery (errno \(errno))") }
        guard let poll = avahi_threaded_poll_new() else {
            close(timer)
            throw KithError(.internal, "no memory for discovery")
        }
        let session = AvahiSession(
            advertisement: advertisement, shortID: shortID, poll: poll, timer: timer, onEvent: onEvent)
        let context = Unmanaged.passRetained(session).toOpaque()
        let api = avahi_threaded_poll_get(poll)!
        session.watch = api.pointee.watch_new(api, timer, AVAHI_WATCH_IN, sessionTimerFired, context)
        session.rebuildAt = monotonicMilliseconds()
        session.armTimer()
        guard session.watch != nil, avahi_threaded_poll_start(poll) == 0 else {
            session.free()
            throw KithError(.internal, "no thread for discovery")
        }
        return session
    }

    private init(
        advertisement: ServiceAdvertisement, shortID: String, poll: OpaquePointer, timer: Int32,
        onEvent: @escaping @Sendable (DiscoveryEvent) -> Void
    ) {
        self.advertisement = advertisement
        self.shortID = shortID
        self.poll = poll
        self.timer = timer
        self.onEvent = onEvent
        table = ServiceTable(ownShortID: shortID)
        serviceName = ServiceName.cut(advertisement.name, bytesMax: DiscoveryLimits.instanceNameBytesMax)
    }

    /// Joins the thread and frees everything. Once, and not on Avahi's thread.
    func stop() {
        avahi_threaded_poll_stop(poll)
        free()
    }

    /// As `stop`, but when this is Avahi's thread, which cannot wait for itself, another one does it.
    func stopFromAnyThread() {
        // Only Avahi's thread itself can read its own number here, and it wrote it in the first thing that it did.
        guard threadID.load(ordering: .relaxed) == pthread_self() else { return stop() }
        var thread = pthread_t()
        // The new thread owns this reference.
        let context = Unmanaged.passRetained(self).toOpaque()
        if pthread_create(&thread, nil, stopOnOtherThread, context) == 0 {
            pthread_detach(thread)
        } else {
            Unmanaged<AvahiSession>.fromOpaque(context).release()
        }
    }

    /// Frees Avahi's objects when the thread does not run, and gives back the reference that the callbacks had.
    private func free() {
        isStopped = true
        tearDown()
        if let watch { avahi_threaded_poll_get(poll)!.pointee.watch_free(watch) }
        watch = nil
        avahi_threaded_poll_free(poll)
        close(timer)
        Unmanaged.passUnretained(self).release()
    }

    // MARK: Events

    /// Gives out an event.
    func deliver(_ event: DiscoveryEvent) {
        guard !isStopped else { return }
        onEvent(event)
    }

    /// Gives out the state if it is another than before.
    func report(_ state: DiscoveryState) {
        guard state != lastState else { return }
        lastState = state
        deliver(.state(state))
    }

    /// Says why this node is not published, once for each reason.
    func reportNotPublished(_ reason: String, remedy: String?) {
        guard reason != lastNotPublished else { return }
        lastNotPublished = reason
        deliver(.notPublished(reason: reason, remedy: remedy))
    }

    /// Says under which name this node is published.
    func reportPublished() {
        lastNotPublished = nil
        isPublished = true
        deliver(.published(instanceName: serviceName))
    }

    /// Reads the interfaces again, since the network may have changed.
    func refreshState() {
        guard browser != nil else { return }
        report(.on(interfaces: NetworkInterfaces.multicastNames()))
    }

    // MARK: The timer

    static func monotonicMilliseconds() -> Int64 {
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Looks at which services to look up, soon.
    func checkLookupsSoon(_ key: ServiceTable.Key) {
        lookupsToCheck.insert(key)
        if checkLookupsAt == nil {
            checkLookupsAt = Self.monotonicMilliseconds() + DiscoveryLimits.lookUpDelayMilliseconds
            armTimer()
        }
    }

    /// Reports what has changed once it has been quiet for a moment.
    func reportChangesSoon() {
        guard table.hasChanges else { return }
        let now = Self.monotonicMilliseconds()
        let latest = reportAtLatest ?? now + DiscoveryLimits.reportDelayMillisecondsMax
        reportAtLatest = latest
        reportAt = min(now + DiscoveryLimits.reportDelayMilliseconds, latest)
        armTimer()
    }

    /// Builds the client anew: at once when there is one to free, else after the next wait.
    func rebuild() {
        rebuildAt = Self.monotonicMilliseconds() + (client == nil ? backoff.take() : 0)
        armTimer()
    }

    /// Sets the timer to the earliest deadline.
    func armTimer() {
        let earliest = ([rebuildAt, checkLookupsAt, reportAt] + lookups.values.map(\.retryAt)).compactMap { $0 }.min()
        var setting = itimerspec()
        if let earliest {
            let wanted = max(1, earliest)  // all zero would disarm it
            setting.it_value = timespec(tv_sec: Int(wanted / 1000), tv_nsec: Int(wanted % 1000) * 1_000_000)
        }
        timerfd_settime(timer, Int32(TFD_TIMER_ABSTIME), &setting, nil)
    }

    func timerFired() {
        threadID.store(pthread_self(), ordering: .relaxed)
        var expirations: UInt64 = 0
        _ = read(timer, &expirations, MemoryLayout<UInt64>.size)
        let now = Self.monotonicMilliseconds()
        if let deadline = rebuildAt, deadline <= now {
            rebuildAt = nil
            if client != nil {
                tearDown()
                rebuild()
            } else {
                build()
            }
        }
        if let deadline = checkLookupsAt, deadline <= now {
            checkLookupsAt = nil
            checkLookups()
        }
        retryLookups(now)
        if let deadline = reportAt, deadline <= now {
            reportAt = nil
            reportAtLatest = nil
            refreshState()
            for event in table.takeEvents() {
                deliver(event)
                if case .found(let node) = event { giveWay(to: node) }
            }
        }
        armTimer()
    }

    // MARK: The client

    /// Connects to D-Bus. With `NO_FAIL` a missing daemon is waited for by the client itself, a missing D-Bus is not.
    private func build() {
        var code: Int32 = 0
        let made = avahi_client_new(
            avahi_threaded_poll_get(poll), AVAHI_CLIENT_NO_FAIL, sessionClientChanged,
            Unmanaged.passUnretained(self).toOpaque(), &code)
        // The callback has already run, and has noted the pointer; without a client it is not to be kept.
        client = made
        guard made != nil else {
            group = nil
            browser = nil
            // A missing daemon would have been waited for: "no daemon" here means that there is no D-Bus to ask.
            let isNoBus = code == Int32(AVAHI_ERR_NO_DAEMON) || code == Int32(AVAHI_ERR_DISCONNECTED)
            report(Self.offState(isNoBus ? Int32(AVAHI_ERR_DBUS_ERROR) : code))
            return rebuild()
        }
    }

    /// Frees the client and what belongs to it, and says what is lost by that.
    private func tearDown() {
        if let client { avahi_client_free(client) }
        client = nil
        group = nil
        browser = nil
        isPublished = false
        namesTaken = 0
        lookups = [:]
        lookupsToCheck = []
        checkLookupsAt = nil
        reportAt = nil
        reportAtLatest = nil
        for event in table.removeAll() { deliver(event) }
    }

    func clientChanged(_ client: OpaquePointer, _ state: AvahiClientState) {
        self.client = client
        switch state {
        case AVAHI_CLIENT_S_RUNNING:
            backoff.reset()
            browse(client)
            publish(client)
        case AVAHI_CLIENT_S_REGISTERING, AVAHI_CLIENT_S_COLLISION:
            // The host's own name is being settled: the service comes back when that is done.
            backoff.reset()
            if let group { avahi_entry_group_reset(group) }
            isPublished = false
        case AVAHI_CLIENT_CONNECTING:
            backoff.reset()
            report(Self.offState(Int32(AVAHI_ERR_NO_DAEMON)))
        default:
            failed(avahi_client_errno(client))
        }
    }

    /// Something that should work did not: discovery is off until the client was built anew.
    func failed(_ code: Int32) {
        report(Self.offState(code))
        rebuild()
    }

    /// What an error of Avahi means for people.
    static func offState(_ code: Int32) -> DiscoveryState {
        switch code {
        case Int32(AVAHI_ERR_NO_DAEMON), Int32(AVAHI_ERR_DISCONNECTED):
            .off(
                reason: "avahi-daemon does not run",
                remedy: "Start it with 'systemctl start avahi-daemon'; if it is missing, 'apt install avahi-daemon'")
        case Int32(AVAHI_ERR_DBUS_ERROR), Int32(AVAHI_ERR_NO_NETWORK):
            .off(
                reason: "the system's D-Bus cannot be reached, through which avahi-daemon is asked",
                remedy: "'apt install avahi-daemon' brings both; start them with 'systemctl start dbus avahi-daemon'")
        case Int32(AVAHI_ERR_ACCESS_DENIED):
            .off(
                reason: "D-Bus does not let this user ask avahi-daemon",
                remedy: "See the policy in /usr/share/dbus-1/system.d/avahi-dbus.conf")
        default:
            .off(reason: "avahi-daemon: \(text(code))", remedy: "See 'journalctl -u avahi-daemon'")
        }
    }

    /// Avahi's text for an error.
    static func text(_ code: Int32) -> String { avahi_strerror(code).map { String(cString: $0) } ?? "error \(code)" }
}

private func sessionTimerFired(
    _ watch: OpaquePointer?, _ descriptor: Int32, _ event: AvahiWatchEvent, _ context: UnsafeMutableRawPointer?
) {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeUnretainedValue().timerFired()
}

private func sessionClientChanged(
    _ client: OpaquePointer?, _ state: AvahiClientState, _ context: UnsafeMutableRawPointer?
) {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeUnretainedValue().clientChanged(client!, state)
}

private func stopOnOtherThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    Unmanaged<AvahiSession>.fromOpaque(context!).takeRetainedValue().stop()
    return nil
}
