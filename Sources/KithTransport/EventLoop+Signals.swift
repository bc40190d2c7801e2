import CLinux
import Glibc
import KithDocuments
import Synchronization

extension EventLoop {
    /// Runs `body` on the loop each time the process gets the signal (SIGINT, SIGTERM, SIGHUP …), which then no longer
    /// has its own effect. One handler per signal; a new one takes the place of the old. Also a signal that was
    /// ignored when the process started (`nohup`) is taken.
    ///
    /// - Throws: `.inputOutput` when no file descriptor is left or the signal cannot be caught.
    @LoopActor
    public func onSignal(_ number: Int32, _ body: @escaping @LoopActor () -> Void) throws(KithError) {
        if signalReader == nil { signalReader = try SignalReader(loop: self) }
        signalHandlers[number] = body
        var action = sigaction()
        action.__sigaction_handler.sa_handler = signalArrived
        action.sa_flags = SA_RESTART
        sigemptyset(&action.sa_mask)
        guard sigaction(number, &action, nil) == 0 else {
            signalHandlers[number] = nil
            throw KithError(.inputOutput, "Signal \(number) cannot be caught: \(errorText(errno))")
        }
    }
}

/// The writing end of the pipe that carries signal numbers to the loop, or -1. Set before the first handler is
/// installed, so that the handler never runs this global's initialiser.
private let signalPipe = Atomic<Int32>(-1)

/// The signal handler: one write of one byte, which is async-signal-safe (signal-safety(7)).
private func signalArrived(_ number: Int32) {
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = Glibc.write(signalPipe.load(ordering: .relaxed), &byte, 1)
    errno = saved
}

/// The reading end of the pipe.
@LoopActor
final class SignalReader: DescriptorHandler {
    private let descriptor: Int32
    private unowned let loop: EventLoop

    init(loop: EventLoop) throws(KithError) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC | O_NONBLOCK) == 0 else {
            throw KithError(.inputOutput, "No pipe for signals: \(errorText(errno))")
        }
        self.loop = loop
        descriptor = ends[0]
        // Both ends live as long as the process: a handler may run at any time.
        signalPipe.store(ends[1], ordering: .sequentiallyConsistent)
        try loop.watch(descriptor, self)
    }

    func handleEvents(_ events: UInt32) {
        var byte: UInt8 = 0
        while Glibc.read(descriptor, &byte, 1) == 1 { loop.signalHandlers[Int32(byte)]?() }
    }
}
