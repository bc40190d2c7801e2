import Synchronization

/// Sees whether two do something at once.
final class Counter: Sendable {
    private let running = Atomic<Int>(0)

    /// Does something for a moment; whether nobody else did it meanwhile.
    var isAlone: Bool {
        let before = running.add(1, ordering: .sequentiallyConsistent).oldValue
        var work: UInt64 = 1
        for _ in 0..<10_000 { work = work &* 6_364_136_223_846_793_005 &+ 1 }
        running.subtract(1, ordering: .sequentiallyConsistent)
        return before == 0 && work != 0
    }
}
