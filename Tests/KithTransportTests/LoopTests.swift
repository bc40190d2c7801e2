import Glibc
import KithDocuments
import Synchronization
import Testing

@testable import KithTransport

@Suite("The event loop", .timeLimit(.minutes(60)))
struct LoopTests {
    @Test("timers run in the order in which they are due, equal ones in the order of their making")
    @LoopActor func timerOrder() async {
        let order = Box<Int>()
        var timers: [LoopTimer] = []
        for (number, delay) in [0.025, 0.005, 0.02, 0.01, 0.015, 0, 0, 0, 0, 0].enumerated() {
            timers.append(EventLoop.shared.schedule(afterSeconds: delay) { order.put(number) })
        }
        // On a slow machine the moment of making can outweigh the delay: what was due first is what counts.
        let due = timers.indices.sorted { (a, b) in
            (timers[a].deadline, timers[a].order) < (timers[b].deadline, timers[b].order)
        }
        _ = await order.value(timers.count - 1)
        #expect(order.values == due)
    }

    @Test("a timer never runs early, and a cancelled one never runs")
    @LoopActor func timerCancel() async {
        let order = Box<UInt64>()
        let begin = EventLoop.monotonicNanoseconds
        let cancelled = (0..<100).map { index in
            EventLoop.shared.schedule(afterSeconds: Double(index % 7) / 1000) { order.put(0) }
        }
        // One is cancelled from another's body, at the same moment.
        let victim = EventLoop.shared.schedule(afterSeconds: 0.012) { order.put(0) }
        EventLoop.shared.schedule(afterSeconds: 0.011) { victim.cancel() }
        EventLoop.shared.schedule(afterSeconds: 0.02) { order.put(EventLoop.monotonicNanoseconds) }
        for timer in cancelled.shuffled() {
            #expect(timer.isPending)
            timer.cancel()
            #expect(!timer.isPending)
        }
        #expect(await order.value() - begin >= 20_000_000)
        #expect(order.values.count == 1)
    }

    @Test("the heap gives timers in order whatever is inserted and removed")
    @LoopActor func heap() {
        var heap = TimerHeap()
        var state: UInt64 = 9
        var kept: [LoopTimer] = []
        for _ in 0..<2000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1
            let timer = LoopTimer(deadline: state >> 56) {}
            heap.insert(timer)
            kept.append(timer)
            if state >> 40 & 3 == 0 { heap.remove(kept.remove(at: Int(state >> 20 % UInt64(kept.count)) % kept.count)) }
        }
        var last: (UInt64, UInt64) = (0, 0)
        var count = 0
        while let timer = heap.first {
            heap.remove(timer)
            #expect((timer.deadline, timer.order) >= last)
            last = (timer.deadline, timer.order)
            count += 1
        }
        #expect(count == kept.count)
    }

    @Test("what many threads post runs on the loop's thread, each thread's in its order")
    func postFromManyThreads() async {
        let threads = 8
        let each = 2000
        let box = Box<[Int: [Int]]>()
        let log = Log()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    await onThread {
                        for number in 0..<each {
                            EventLoop.shared.post {
                                EventLoop.shared.checkIsolated()
                                log.lists[thread, default: []].append(number)
                                log.count += 1
                                if log.count == threads * each { box.put(log.lists) }
                            }
                        }
                    }
                }
            }
        }
        let lists = await box.value()
        for thread in 0..<threads { #expect(lists[thread] == Array(0..<each)) }
    }

    @LoopActor private final class Log {
        var lists: [Int: [Int]] = [:]
        var count = 0
    }

    @Test("isolated tasks run on the loop's thread, also after waiting; with the loop as preference others too")
    func isolation() async {
        await Task { @LoopActor in
            #expect(EventLoop.shared.isOnLoopThread)
            await Task.yield()
            #expect(EventLoop.shared.isOnLoopThread)
            _ = await onThread { 1 }
            #expect(EventLoop.shared.isOnLoopThread)
            #expect(LoopActor.assumeIsolated { 5 } == 5)
        }.value
        #expect(!EventLoop.shared.isOnLoopThread)
        await Task(executorPreference: EventLoop.shared) {
            #expect(EventLoop.shared.isOnLoopThread)
            _ = await onThread { 1 }
            #expect(EventLoop.shared.isOnLoopThread)
        }.value
    }

    @Test("a signal reaches its handler on the loop, and the process lives on")
    func signals() async {
        await #expect(processExitsWith: .success) {
            await Task { @LoopActor in
                let seen = Box<Int32>()
                try? EventLoop.shared.onSignal(SIGTERM) { seen.put(SIGTERM) }
                try? EventLoop.shared.onSignal(SIGINT) { seen.put(SIGINT) }
                kill(getpid(), SIGTERM)
                let first = await seen.value()
                kill(getpid(), SIGINT)
                let second = await seen.value(1)
                exit(first == SIGTERM && second == SIGINT ? 0 : 1)
            }.value
        }
    }

    @Test("writing to a peer that is gone is an error, not a signal, with SIGPIPE as the system sets it")
    func brokenPipe() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            await Task { @LoopActor in
                for medium in Medium.allCases {
                    for _ in 0..<20 {
                        guard let pair = try? await Pair(medium) else { exit(2) }
                        pair.far.connection.pauseReading()
                        pair.near.connection.write([UInt8](repeating: 0, count: 1 << 20))
                        pair.far.connection.abort()
                        guard await pair.near.closed() != nil else { exit(3) }
                        pair.server.listener?.close()
                    }
                }
                exit(0)
            }.value
        }
    }
}
