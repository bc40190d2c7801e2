import KithDocuments
import Testing

@testable import KithStore

@Suite("Store: when conflicts are looked at")
struct ConflictAgendaTests {
    private func key(_ name: String) throws -> ConflictAgenda.Key {
        ConflictAgenda.Key(collection: .default, id: try id(name))
    }

    @Test("each is taken once, in the order in which they were noted, and never twice at a time")
    func order() throws {
        var agenda = ConflictAgenda()
        let keys = try ["c", "a", "b"].map(key)
        for name in keys { agenda.note(name, now: 5) }
        agenda.note(keys[1], now: 6)
        #expect(agenda.take(2, now: 10) == [keys[0], keys[2]])
        #expect(agenda.take(9, now: 10) == [keys[1]])
        agenda.note(keys[0], now: 11)
        #expect(agenda.take(9, now: 11) == [])
        agenda.finish(keys[0], .unchanged, now: 12, random: 0)
        #expect(agenda.take(9, now: 12) == [keys[0]])
        for name in keys { agenda.finish(name, .resolved, now: 13, random: 0) }
        #expect(agenda.nextDue == nil)
        agenda.note(keys[2], now: 14)
        agenda.forget(keys[2])
        #expect(agenda.take(9, now: 14) == [])
    }

    @Test("a document that comes back again and again waits longer each time, and begins anew after a quiet time")
    func backOff() throws {
        var agenda = ConflictAgenda()
        let a = try key("a")
        var now: Int64 = 0
        var waits: [Int64] = []
        for _ in 0..<20 {
            agenda.note(a, now: now)
            let due = try #require(agenda.nextDue)
            waits.append(due - now)
            #expect(due == now || agenda.take(1, now: due - 1) == [])
            now = due
            #expect(agenda.take(1, now: now) == [a])
            agenda.finish(a, .resolved, now: now, random: 0)
        }
        #expect(waits.prefix(9).allSatisfy { $0 == 0 })
        #expect(waits[9...].prefix(5) == [1_000, 2_000, 4_000, 8_000, 16_000])
        #expect(waits.last == 32_000)
        now += StoreLimits.conflictQuietMilliseconds + 1
        agenda.note(a, now: now)
        #expect(agenda.nextDue == now)
    }

    @Test(
        "a node that knows a part waits its time for one that knows more, whatever changes, and anew for other versions"
    )
    func patience() throws {
        var agenda = ConflictAgenda()
        let a = try key("a")
        let (versions, others) = (
            try ["2-a", "2-b"].map { try revision($0) }, try ["3-a", "2-b"].map { try revision($0) }
        )
        func isOver(_ versions: [RevisionID], _ now: Int64) -> Bool {
            agenda.waiting(a)?.isOver(for: versions, now: now) ?? false
        }
        func look(_ versions: [RevisionID], _ now: Int64) {
            agenda.note(a, now: now)
            #expect(agenda.take(1, now: now) == [a])
            agenda.finish(a, .waits(versions), now: now, random: 1)
        }
        look(versions, 0)
        #expect(!isOver(versions, 0))
        // A change that leaves the versions as they are.
        look(versions, 100)
        #expect(!isOver(versions, 100) && !isOver(versions, StoreLimits.conflictPatienceMilliseconds - 1))
        #expect(isOver(versions, StoreLimits.conflictPatienceMilliseconds))
        #expect(!isOver(others, StoreLimits.conflictPatienceMilliseconds))
        // When it comes up again by itself, the time is over.
        let due = try #require(agenda.nextDue)
        #expect(isOver(versions, due))
        look(others, due)
        #expect(!isOver(others, due) && !isOver(versions, due))
        agenda.forget(a)
        #expect(agenda.waiting(a) == nil)
    }

    @Test("a failure is tried again later, or when the document changes; one that is final only then")
    func failures() throws {
        var agenda = ConflictAgenda()
        let (a, b) = (try key("a"), try key("b"))
        for name in [a, b] { agenda.note(name, now: 0) }
        #expect(agenda.take(2, now: 0) == [a, b])
        agenda.finish(a, .failedForNow, now: 0, random: 1)
        agenda.finish(b, .failed, now: 0, random: 1)
        #expect(agenda.nextDue == StoreLimits.conflictRetryMillisecondsMin / 2)
        agenda.note(b, now: 1)
        agenda.note(a, now: 2)
        #expect(agenda.take(2, now: 2) == [b, a])
    }

    @Test("any number that fail leave room for others, and memory is bounded")
    func bounds() throws {
        var agenda = ConflictAgenda()
        var noted = 0
        for round in 0..<20 {
            while agenda.hasRoom {
                agenda.note(try key("\(noted)"), now: Int64(round))
                noted += 1
            }
            for name in agenda.take(.max, now: Int64(round)) {
                agenda.finish(name, .failedForNow, now: Int64(round), random: 0)
            }
            #expect(agenda.hasRoom)
        }
        #expect(noted == 20 * StoreLimits.conflictsWaitingMax)
        #expect(agenda.entryCount <= StoreLimits.conflictsRememberedMax)
        let tooEarly = agenda.takeForgotten()
        let taken = agenda.take(.max, now: .max / 2)
        #expect(!tooEarly && taken.count == StoreLimits.conflictsWaitingMax)
        // Those that were let go are looked for again as soon as there is room.
        let answers = [agenda.takeForgotten(), agenda.takeForgotten()]
        #expect(answers == [true, false])
    }

    @Test("one that is found again goes on waiting for its next attempt")
    func foundAgain() throws {
        var agenda = ConflictAgenda()
        let key = try key("a")
        agenda.noteFound(key, now: 0)
        let taken = agenda.take(.max, now: 0)
        #expect(taken == [key])
        agenda.noteFound(key, now: 0)
        agenda.finish(key, .failedForNow, now: 0, random: 0)
        let due = agenda.nextDue
        agenda.noteFound(key, now: 0)
        #expect(agenda.nextDue == due && due != 0)
        agenda.note(key, now: 0)
        #expect(agenda.nextDue == 0)
    }
}
