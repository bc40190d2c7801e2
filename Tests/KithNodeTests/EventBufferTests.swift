import Testing

@testable import KithNode

@Suite("Events for a reader")
struct EventBufferTests {
    /// What is read until nothing more comes: events, and negative the number that was lost.
    private func rest(_ buffer: EventBuffer<Int>) async -> [Int] {
        var result: [Int] = []
        while let item = await buffer.next() {
            switch item {
            case .event(let event): result.append(event)
            case .lost(let count): result.append(-count)
            }
        }
        return result
    }

    @Test("come in their order, also those that were there before they were asked for, and end")
    func order() async {
        let buffer = EventBuffer<Int>(countMax: 10)
        for number in 1...5 { buffer.add(number) }
        buffer.close()
        buffer.add(6)
        #expect(await rest(buffer) == [1, 2, 3, 4, 5])
        #expect(await rest(buffer) == [])
    }

    @Test("are dropped from the oldest on when nobody reads, and how many is said once", arguments: [1, 3, 10])
    func dropped(countMax: Int) async {
        let buffer = EventBuffer<Int>(countMax: countMax)
        for number in 1...100 { buffer.add(number) }
        guard case .lost(let count) = await buffer.next() else {
            Issue.record("nothing was said to be lost")
            return
        }
        #expect(count == 100 - countMax)
        buffer.add(101)
        buffer.close()
        let expected = Array((102 - countMax)...101)
        #expect(await rest(buffer) == [-1] + expected)
    }

    @Test("wake a reader that waits, one by one and at the end")
    func wakes() async {
        let buffer = EventBuffer<Int>(countMax: 1_000)
        let reader = Task { await rest(buffer) }
        for number in 1...500 {
            buffer.add(number)
            if number % 7 == 0 { await Task.yield() }
        }
        buffer.close()
        #expect(await reader.value == Array(1...500))
    }

    @Test("leave a reader whose task is cancelled")
    func cancelled() async {
        let buffer = EventBuffer<Int>(countMax: 10)
        for _ in 0..<50 {
            let reader = Task { await rest(buffer) }
            await Task.yield()
            reader.cancel()
            #expect(await reader.value == [])
        }
        buffer.add(1)
        buffer.close()
        #expect(await rest(buffer) == [1])
    }
}
