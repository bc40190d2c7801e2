import CCurl
import CLinux
import Glibc
import KithDocuments
import Synchronization

/// The thread of `HTTPClientActor`: it waits in libcurl for its sockets, for due timers and for work from other threads.
final class HTTPClientThread: SerialExecutor {
    static let shared = HTTPClientThread()

    enum Work: Sendable {
        case job(UnownedJob)
        case call(@HTTPClientActor @Sendable () -> Void)
    }

    private let inbox = Mutex<[Work]>([])
    private let threadNumber = Atomic<UInt>(0)
    /// libcurl's own state, as a number: only the thread uses it, but for `curl_multi_wakeup`, which may be called from any thread
    /// (curl_multi_wakeup(3)).
    private let multiAddress: UInt
    @HTTPClientActor var timers: [HTTPClientTimer] = []
    /// The transfers under way, by the address of their handles.
    @HTTPClientActor var transfers: [UInt: HTTPTransfer] = [:]

    var multi: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: multiAddress)! }

    private init() {
        // Once in the process, before any other call. OpenSSL is set up by itself.
        precondition(curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK, "libcurl cannot be set up")
        guard let multi = curl_multi_init() else { preconditionFailure("no memory for libcurl") }
        multiAddress = UInt(bitPattern: multi)
        _ = kith_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, HTTPClientLimits.idleConnectionsMax)
        let started = kith_start_thread(httpClientThread, Unmanaged.passRetained(self).toOpaque())
        precondition(started == 0, "no thread for requests of HTTP: error \(started)")
    }

    func enqueue(_ job: consuming ExecutorJob) { submit(.job(UnownedJob(job))) }

    func checkIsolated() {
        precondition(isOnThread, "this must run on the thread of HTTPClientActor")
    }

    func isIsolatingCurrentContext() -> Bool? { isOnThread }

    private var isOnThread: Bool { threadNumber.load(ordering: .relaxed) == UInt(pthread_self()) }

    func submit(_ work: Work) {
        let isFirst = inbox.withLock { inbox in
            inbox.append(work)
            return inbox.count == 1
        }
        // A wake-up stays until the next wait, so one for all that comes before it is enough.
        if isFirst { curl_multi_wakeup(multi) }
    }

    func run() {
        threadNumber.store(UInt(pthread_self()), ordering: .sequentiallyConsistent)
        while true { turn() }
    }

    private func turn() {
        for work in inbox.withLock({ inbox in
            defer { inbox = [] }
            return inbox
        }) {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
            case .call(let body): HTTPClientActor.assumeIsolated(body)
            }
        }
        HTTPClientActor.assumeIsolated { work() }
        // At most so long; libcurl's own timers make it shorter.
        let wait = HTTPClientActor.assumeIsolated { waitMilliseconds }
        curl_multi_poll(multi, nil, 0, wait, nil)
    }

    @HTTPClientActor
    private func work() {
        var running: Int32 = 0
        curl_multi_perform(multi, &running)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            let result = kith_curl_message_result(message)
            transfers[UInt(bitPattern: easy)]?.finish(result)
        }
        let now = EventLoop.monotonicNanoseconds
        let due = timers.filter { $0.deadlineNanoseconds <= now }
        guard !due.isEmpty else { return }
        timers.removeAll { $0.deadlineNanoseconds <= now }
        for timer in due.sorted(by: { $0.deadlineNanoseconds < $1.deadlineNanoseconds }) { timer.fire() }
    }

    @HTTPClientActor
    private var waitMilliseconds: Int32 {
        timers.removeAll(where: \.isCancelled)
        guard let next = timers.map(\.deadlineNanoseconds).min() else { return 60_000 }
        let now = EventLoop.monotonicNanoseconds
        return next <= now ? 0 : Int32(min((next - now) / 1_000_000 + 1, 60_000))
    }
}

/// The thread's function, free because C calls it.
private func httpClientThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    kith_name_thread("kith-http")
    // OpenSSL writes with `write`, which raises SIGPIPE on this thread when the server has gone. It is blocked here, as all are.
    guard let argument else { return nil }
    Unmanaged<HTTPClientThread>.fromOpaque(argument).takeUnretainedValue().run()
    return nil
}
