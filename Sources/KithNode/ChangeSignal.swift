import KithTransport

/// Wakes everybody who waits for something to change. A wake-up may be in vain: who is woken looks for himself.
@LoopActor
final class ChangeSignal {
    private var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    private var nextWaiter = 0

    /// Waits for the next signal, at most this long.
    func wait(secondsMax: Double) async {
        let waiter = nextWaiter
        nextWaiter += 1
        let timer = EventLoop.shared.schedule(afterSeconds: secondsMax) { [weak self] in
            self?.waiters.removeValue(forKey: waiter)?.resume()
        }
        await withCheckedContinuation { waiters[waiter] = $0 }
        timer.cancel()
    }

    func signal() {
        let woken = waiters
        waiters = [:]
        for waiter in woken.values { waiter.resume() }
    }
}
