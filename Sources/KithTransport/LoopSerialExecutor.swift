/// The event loop as the executor of `LoopActor`.
///
/// An object of its own beside `EventLoop`, which is a task executor: the runtime must be told for each job as which of
/// the two it runs. If it is told both, it takes every call from one isolated function to another for a change of
/// executor, and queues the task once more.
final class LoopSerialExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        EventLoop.shared.submit(.isolatedJob(UnownedJob(job)))
    }

    func checkIsolated() { EventLoop.shared.checkIsolated() }

    func isIsolatingCurrentContext() -> Bool? { EventLoop.shared.isOnLoopThread }
}
