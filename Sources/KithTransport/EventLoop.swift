import CLinux
import Glibc
import KithDocuments
import Synchronization

/// Gets the events of one file descriptor.
@LoopActor
protocol DescriptorHandler: AnyObject {
    /// Called with the epoll event bits; only notes them and puts itself into the turn's queue.
    func handleEvents(_ events: UInt32)
}

/// Has work to do before the loop sleeps again.
@LoopActor
protocol TurnHandler: AnyObject {
    /// Does a bounded piece of the work.
    func runTurn()
}

/// The one thread of the process that waits for the network (epoll), timers and posted work.
///
/// It starts on first use and runs until the process ends. What is isolated to `LoopActor` runs on it. It is also a
/// task executor: `Task(executorPreference: EventLoop.shared) { … }` keeps the continuations of work that is not
/// isolated, or belongs to another actor, on the loop's thread. In such a task **every** `await` gives the loop a turn, also that
/// of a function of the same actor: code that looks at something and then waits for it to change must not run in one.
///
/// A turn of the loop is: wait for events, note them, run due timers, run what was posted, then let every connection
/// that has something to do read and write a bounded amount.
public final class EventLoop: TaskExecutor {
    /// The process's loop.
    public static let shared = EventLoop()

    enum Work {
        case isolatedJob(UnownedJob)
        case preferringJob(UnownedJob)
        case call(@LoopActor @Sendable () -> Void)
    }

    struct Slot {
        var handler: (any DescriptorHandler)?
        var generation: UInt32 = 0
    }

    /// The executor of `LoopActor`.
    let serialExecutor = LoopSerialExecutor()

    private let epoll: Int32
    private let wakeDescriptor: Int32
    private let inbox = Mutex<[Work]>([])
    private let isSleeping = Atomic<Bool>(false)
    private let threadNumber = Atomic<UInt>(0)

    /// By descriptor. A handler is kept alive by its slot; the generation tells events of a closed descriptor from
    /// those of a new one with the same number.
    @LoopActor private var slots: [Slot] = []
    @LoopActor private var turnQueue: [any TurnHandler] = []
    @LoopActor private var nextTurnQueue: [any TurnHandler] = []
    @LoopActor var timers = TimerHeap()
    @LoopActor var signalHandlers: [Int32: @LoopActor () -> Void] = [:]
    @LoopActor var signalReader: SignalReader?
    /// What every connection reads into; lives as long as the process, as the loop does.
    @LoopActor let readBuffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: TransportLimits.readBufferBytes, alignment: 64)

    /// What TLS connections lend each other.
    @LoopActor let spareBuffers = SpareBuffers()

    private init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
        precondition(epoll >= 0 && wakeDescriptor >= 0, "no file descriptors for the event loop: errno \(errno)")
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLET.rawValue
        event.data.u64 = UInt64.max
        let added = epoll_ctl(epoll, EPOLL_CTL_ADD, wakeDescriptor, &event)
        precondition(added == 0, "epoll_ctl: errno \(errno)")
        // The loop is never given back: one retain for the thread that runs for ever.
        let started = kith_start_thread(eventLoopThread, Unmanaged.passRetained(self).toOpaque())
        precondition(started == 0, "no thread for the event loop: error \(started)")
    }

    // MARK: Executor

    /// Queues a job of a task that prefers this executor.
    public func enqueue(_ job: consuming ExecutorJob) {
        submit(.preferringJob(UnownedJob(job)))
    }

    /// Traps when the caller is not on the loop's thread.
    public func checkIsolated() {
        precondition(isOnLoopThread, "this must run on the event loop: mark it @LoopActor")
    }

    /// Whether the caller runs on the loop's thread.
    public var isOnLoopThread: Bool { threadNumber.load(ordering: .relaxed) == pthread_self() }

    /// Runs `body` on the loop, soon; may be called from any thread. What one thread posts runs in its order.
    public func post(_ body: @escaping @LoopActor @Sendable () -> Void) {
        submit(.call(body))
    }

    func submit(_ work: Work) {
        inbox.withLock { $0.append(work) }
        // The loop sets the flag before it looks into the inbox for the last time: either it has seen this work, or
        // this thread sees the flag. Only the first of many posters pays for the system call.
        if isSleeping.exchange(false, ordering: .sequentiallyConsistent) {
            var one: UInt64 = 1
            _ = Glibc.write(wakeDescriptor, &one, 8)
        }
    }

    /// Runs work that would hold up the loop on the system's threads.
    ///
    /// - Throws: what `body` throws.
    public nonisolated static func beside<T: Sendable>(_ body: @Sendable () throws -> T) async rethrows -> T {
        try body()
    }

    // MARK: Time

    /// Nanoseconds of the monotonic clock, which stands still while the machine sleeps.
    public static var monotonicNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Nanoseconds of a clock that nobody sets, and that goes on while the machine sleeps.
    public static var bootNanoseconds: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// Runs `body` once after `seconds` (not before), unless cancelled; timers due together run in the order in which
    /// they are due, then in the order in which they were made.
    @LoopActor @discardableResult
    public func schedule(afterSeconds seconds: Double, _ body: @escaping @LoopActor () -> Void) -> LoopTimer {
        let nanoseconds = UInt64(max(0, min(seconds, 1e9)) * 1e9)
        let timer = LoopTimer(deadline: EventLoop.monotonicNanoseconds + nanoseconds, body: body)
        timers.insert(timer)
        return timer
    }

    // MARK: Descriptors

    /// Watches a descriptor for everything, edge-triggered; the handler is kept until `unwatch`.
    @LoopActor
    func watch(_ descriptor: Int32, _ handler: any DescriptorHandler) throws(KithError) {
        let index = Int(descriptor)
        if index >= slots.count { slots.append(contentsOf: repeatElement(Slot(), count: index + 1 - slots.count)) }
        slots[index].generation &+= 1
        var event = epoll_event()
        event.events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue
        event.data.u64 = UInt64(slots[index].generation) << 32 | UInt64(UInt32(descriptor))
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else {
            throw KithError(.inputOutput, "The kernel cannot watch one more connection: \(errorText(errno))")
        }
        slots[index].handler = handler
    }

    /// Ends the watch; no event of this descriptor comes any more, also not one that is already fetched.
    @LoopActor
    func unwatch(_ descriptor: Int32) {
        let index = Int(descriptor)
        guard index < slots.count, slots[index].handler != nil else { return }
        slots[index].handler = nil
        slots[index].generation &+= 1
        var event = epoll_event()
        _ = epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event)
    }

    /// Has `handler` run before the loop sleeps.
    @LoopActor
    func enqueueTurn(_ handler: any TurnHandler) { turnQueue.append(handler) }

    /// Has `handler` run in the next turn, after the others had theirs and new events were fetched.
    @LoopActor
    func enqueueNextTurn(_ handler: any TurnHandler) { nextTurnQueue.append(handler) }

    // MARK: The thread

    func run() {
        threadNumber.store(pthread_self(), ordering: .sequentiallyConsistent)
        let serial = serialExecutor.asUnownedSerialExecutor()
        let task = asUnownedTaskExecutor()
        // Unsafe only in the compiler's eyes: allocated here and used by this thread alone, which is also the isolation
        // of `dispatch`.
        nonisolated(unsafe) let events = UnsafeMutableBufferPointer<epoll_event>.allocate(
            capacity: TransportLimits.eventsPerTurnMax)
        events.initialize(repeating: epoll_event())
        var batch: [Work] = []
        var timeout: Int32 = 0
        while true {
            if timeout != 0 {
                isSleeping.store(true, ordering: .sequentiallyConsistent)
                if inbox.withLock({ !$0.isEmpty }) { timeout = 0 }
            }
            let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), timeout)
            isSleeping.store(false, ordering: .sequentiallyConsistent)
            // This is the loop's thread, which is what isolation to LoopActor means: see `LoopActor.assumeIsolated`.
            if count > 0 {
                LoopActor.assumeIsolated { dispatch(events[..<Int(count)]) }
            }
            LoopActor.assumeIsolated { runDueTimers() }
            inbox.withLock { swap(&batch, &$0) }
            for work in batch {
                switch work {
                case .isolatedJob(let job): job.runSynchronously(on: serial)
                case .preferringJob(let job): job.runSynchronously(on: task)
                case .call(let body): LoopActor.assumeIsolated { body() }
                }
            }
            batch.removeAll(keepingCapacity: true)
            timeout = LoopActor.assumeIsolated {
                runTurns()
                return timeoutMilliseconds()
            }
        }
    }

    @LoopActor
    private func dispatch(_ events: Slice<UnsafeMutableBufferPointer<epoll_event>>) {
        for event in events {
            if event.data.u64 == UInt64.max {
                var value: UInt64 = 0
                _ = Glibc.read(wakeDescriptor, &value, 8)
                continue
            }
            let index = Int(event.data.u64 & 0xffff_ffff)
            let slot = slots[index]
            guard UInt64(slot.generation) == event.data.u64 >> 32 else { continue }
            slot.handler?.handleEvents(event.events)
        }
    }

    @LoopActor
    private func runDueTimers() {
        guard let first = timers.first, first.deadline <= EventLoop.monotonicNanoseconds else { return }
        // Timers that are made from here on wait for the next turn, so a timer of zero seconds cannot hold the loop.
        let now = EventLoop.monotonicNanoseconds
        let lastOrder = timers.lastOrder
        while let timer = timers.first, timer.deadline <= now, timer.order <= lastOrder {
            timers.remove(timer)
            timer.fire()
        }
    }

    @LoopActor
    private func runTurns() {
        // What is queued meanwhile (one connection's callback writing to another) still has its turn, within reason.
        var index = 0
        let limit = turnQueue.count * 4 + 64
        while index < turnQueue.count, index < limit {
            turnQueue[index].runTurn()
            index += 1
        }
        turnQueue.removeFirst(index)
        turnQueue.append(contentsOf: nextTurnQueue)
        nextTurnQueue.removeAll(keepingCapacity: true)
    }

    @LoopActor
    private func timeoutMilliseconds() -> Int32 {
        if !turnQueue.isEmpty { return 0 }
        guard let first = timers.first else { return -1 }
        let now = EventLoop.monotonicNanoseconds
        if first.deadline <= now { return 0 }
        // Rounded up: a timer never runs early, and the loop never spins through the last millisecond.
        return Int32(min((first.deadline - now + 999_999) / 1_000_000, 3_600_000))
    }
}

/// The thread's function, free because C calls it.
private func eventLoopThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    kith_name_thread("kith-loop")
    guard let argument else { return nil }
    Unmanaged<EventLoop>.fromOpaque(argument).takeUnretainedValue().run()
    return nil
}
