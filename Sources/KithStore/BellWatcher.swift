import CLinux
import Glibc

/// Hears the bells that other processes ring at the files of databases (`DatabaseBell`).
///
/// There is one for the process, since the system has few inotify instances for each user. Its thread and its descriptors
/// are there while something is watched. Where a file cannot be watched, because the system's limit is reached, that is
/// said once on standard error, and the watch is told every `StoreLimits.bellPollMilliseconds` that there may be news.
package final class BellWatcher: Sendable {
    /// The one of this process.
    package static let shared = BellWatcher()

    private typealias Callback = @Sendable () -> Void

    private struct State: Sendable {
        var lastToken: UInt64 = 0
        /// By inotify's number of the file: two databases may have the same one open.
        var watched: [Int32: [UInt64: Callback]] = [:]
        /// What inotify does not watch.
        var polled: [UInt64: Callback] = [:]
        var descriptors: Descriptors?
        var hasComplained = false

        var isEmpty: Bool { watched.isEmpty && polled.isEmpty }
    }

    /// -1 stands for one that the system did not give.
    private struct Descriptors: Sendable {
        let inotify: Int32
        /// Ends a wait of the thread.
        let wake: Int32
    }

    private let usesInotify: Bool
    private let state = Monitor(State())

    /// A watcher; for tests also one for which inotify is not available.
    package init(usesInotify: Bool = true) {
        self.usesInotify = usesInotify
    }

    /// Calls `onRing` on the watcher's thread each time the bell of a file may have been rung; rings in quick succession
    /// are told once.
    ///
    /// What is rung after this returns is told, however soon. `onRing` must not wait.
    package func watch(_ path: String, _ onRing: @escaping @Sendable () -> Void) -> BellWatch {
        state.update { state in
            state.lastToken += 1
            let token = state.lastToken
            if state.descriptors == nil { start(&state) }
            let number = state.descriptors.map { inotify_add_watch($0.inotify, path, UInt32(IN_ATTRIB)) } ?? -1
            if number >= 0 {
                state.watched[number, default: [:]][token] = onRing
            } else {
                complain(&state)
                state.polled[token] = onRing
                // It waits without end so far.
                wake(state)
            }
            return BellWatch(watcher: self, token: token)
        }
    }

    fileprivate func remove(_ token: UInt64) {
        state.update { state in
            if state.polled.removeValue(forKey: token) == nil,
                let number = state.watched.first(where: { $0.value[token] != nil })?.key
            {
                state.watched[number]?[token] = nil
                if state.watched[number]?.isEmpty == true {
                    state.watched[number] = nil
                    if let descriptors = state.descriptors { inotify_rm_watch(descriptors.inotify, number) }
                }
            }
            if state.isEmpty { wake(state) }
        }
    }

    /// Whether its thread is there, or about to end: for tests.
    package var isRunning: Bool { state.update { $0.descriptors != nil } }

    private func wake(_ state: State) {
        if let descriptors = state.descriptors { eventfd_write(descriptors.wake, 1) }
    }

    private func complain(_ state: inout State) {
        if state.hasComplained || !usesInotify { return }
        state.hasComplained = true
        let reason = String(cString: strerror(errno))
        let text = "kith: files cannot be watched (\(reason)); changes by other processes are seen after a second\n"
        text.utf8.withContiguousStorageIfAvailable { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }

    // MARK: The thread

    private func start(_ state: inout State) {
        let descriptors = Descriptors(
            inotify: usesInotify ? inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC)) : -1,
            wake: eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)))
        if StoreThread.start(name: "kith-bells", { self.run(descriptors) }) {
            state.descriptors = descriptors
        } else {
            complain(&state)
            close(descriptors)
        }
    }

    private func close(_ descriptors: Descriptors) {
        for descriptor in [descriptors.inotify, descriptors.wake] where descriptor >= 0 { Glibc.close(descriptor) }
    }

    private func run(_ descriptors: Descriptors) {
        var events = [UInt8](repeating: 0, count: 16_384)
        while true {
            let hasPolled = state.update { !$0.polled.isEmpty }
            // Without the means to be woken it looks now and then whether it is still needed.
            let timeout = hasPolled || descriptors.wake < 0 ? StoreLimits.bellPollMilliseconds : -1
            var polls = [
                pollfd(fd: descriptors.wake, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptors.inotify, events: Int16(POLLIN), revents: 0),
            ]
            poll(&polls, 2, timeout)
            if polls[0].revents != 0 {
                var count: eventfd_t = 0
                eventfd_read(descriptors.wake, &count)
            }
            let count = polls[1].revents != 0 ? read(descriptors.inotify, &events, events.count) : 0
            let callbacks: [Callback]? = state.update { state in
                guard state.isEmpty else { return Self.callbacks(events[..<max(0, count)], &state) }
                // Under the lock, so that no new watch is put on a descriptor that is closed.
                close(descriptors)
                state.descriptors = nil
                return nil
            }
            guard let callbacks else { return }
            for callback in callbacks { callback() }
            // While rings come without end, most of them this process's own, a few wakes a second are enough.
            if !callbacks.isEmpty { poll(&polls, 1, StoreLimits.bellPauseMilliseconds) }
        }
    }

    private static func callbacks(_ events: ArraySlice<UInt8>, _ state: inout State) -> [Callback] {
        var callbacks = Array(state.polled.values)
        var rest = events
        let headerCount = MemoryLayout<inotify_event>.size
        while rest.count >= headerCount {
            let event = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
            rest = rest.dropFirst(headerCount + Int(event.len))
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 {
                callbacks += state.watched.values.flatMap(\.values)
            } else {
                callbacks += state.watched[event.wd].map { Array($0.values) } ?? []
            }
            // The file is gone, and this number with it.
            if event.mask & UInt32(IN_IGNORED) != 0 { state.watched[event.wd] = nil }
        }
        return callbacks
    }
}

/// A watch at the file of a database; it ends with `cancel()` or with this object.
package final class BellWatch: Sendable {
    private let watcher: BellWatcher
    private let token: UInt64

    fileprivate init(watcher: BellWatcher, token: UInt64) {
        self.watcher = watcher
        self.token = token
    }

    deinit {
        cancel()
    }

    /// Ends the watch: a call that has begun may still end after this returns.
    package func cancel() {
        watcher.remove(token)
    }
}
