import CFaultVFS
import Testing

/// The disk fails, or the power goes, at every single call with which a database changes its files.
@Suite("Faults of the disk")
struct FaultTests {
    private static let powerVariants = TestLength.isLong ? 20 : 1

    @Test(
        "a call that fails loses nothing that was acknowledged, and writing works again at once",
        arguments: [Fault.error(at: 0), .errors(from: 0), .full(at: 0), .full(from: 0)])
    func failingCalls(_ fault: Fault) throws {
        try Self.expectNoFaults(FaultScript.operations, fault)
    }

    @Test("after a power cut at any call, everything acknowledged is there and nothing is in halves")
    func powerCuts() throws {
        try Self.expectNoFaults(FaultScript.operations, .powerCut(at: 0))
    }

    @Test(
        "a blob is whole or not there, whatever fails while it comes, is used and goes",
        arguments: [Fault.error(at: 0), .full(at: 0), .powerCut(at: 0)])
    func blobs(_ fault: Fault) throws {
        try Self.expectNoFaults(FaultScript.blobs, fault)
    }

    @Test(
        "a blob that is taken up again becomes whole, whatever the disk has kept of its beginning",
        arguments: [Fault.error(at: 0), .powerCut(at: 0)])
    func beginnings(_ fault: Fault) throws {
        try Self.expectNoFaults(FaultScript.beginnings, fault)
    }

    @Test(
        "what is acknowledged after a flush that failed is there after a power cut, though the system forgets that it failed"
    )
    func lostFlushes() throws {
        for number in 1...(try Self.count(.flushes, .none())) {
            let folder = TemporaryFolder(inMemory: true)
            let disk = TemporaryFolder(inMemory: true)
            let vfs = try FaultVFS()
            let run = FaultRun(path: folder.file(), vfs: vfs)
            vfs.arm(.lostFlush(at: number))
            run.play(FaultScript.flushes.steps)
            run.recover()
            vfs.cutPower()
            try vfs.save(to: disk.path, seed: 0, percent: 0)
            run.close()
            #expect(run.faults + run.ledger.faults(at: disk.file()) == [], "call \(number)")
        }
    }

    @Test(
        "a file of an older format is of the old or of the new one, whatever fails while it is brought to the new one",
        arguments: [Fault.error(at: 0), .errors(from: 0), .full(at: 0), .full(from: 0), .powerCut(at: 0)])
    func migration(_ fault: Fault) throws {
        try Self.expectNoFaults(FaultScript.migration, fault)
    }

    @Test("this way of testing finds a database that does not wait for the disk")
    func findsMissingSync() throws {
        let script = FaultScript.operations
        let isFound = try (1...Self.count(script, .none())).contains { number in
            try Self.faults(script, afterPowerCutAt: number, isDurable: false).contains { $0.hasPrefix("lost") }
        }
        #expect(isFound)
    }

    @Test("this way of testing finds a write that a disk forgets")
    func findsForgottenWrite() throws {
        let script = FaultScript.operations
        let isFound = try (1...Self.count(script, .none())).contains { number in
            try !Self.faults(script, after: .silent(at: number)).isEmpty
        }
        #expect(isFound)
    }

    /// Plays the script once for each of its calls, with this fault there.
    private static func expectNoFaults(_ script: FaultScript, _ fault: Fault) throws {
        var fault = fault
        let total = try count(script, .none(fault.kind))
        for number in 1...total {
            fault.number = number
            let isPowerCut = fault.mode == KITH_FAULT_POWER
            let faults =
                try isPowerCut ? faults(script, afterPowerCutAt: number) : faults(script, after: fault)
            #expect(faults.isEmpty, "\(fault) of \(total)")
        }
    }

    /// How many calls the script makes when nothing fails; then nothing may be wrong with it.
    private static func count(_ script: FaultScript, _ fault: Fault) throws -> Int {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = try FaultRun(path: folder.file(), vfs: vfs, ledger: script.prepare(folder.file()))
        vfs.arm(fault)
        run.play(script.steps)
        let count = vfs.count
        run.close()
        #expect(run.faults + run.ledger.faults(at: folder.file()) == [])
        #expect(run.errors.isEmpty && run.ledger.uncertain.isEmpty && !run.ledger.acknowledged.isEmpty)
        return count
    }

    /// What is wrong after the script was played with a fault that has gone then.
    private static func faults(_ script: FaultScript, after fault: Fault) throws -> [String] {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = try FaultRun(path: folder.file(), vfs: vfs, ledger: script.prepare(folder.file()))
        vfs.arm(fault)
        run.play(script.steps)
        let isMet = vfs.count >= fault.number
        vfs.disarm()
        run.recover()
        run.close()
        var faults = run.faults + run.ledger.faults(at: folder.file())
        if !isMet { faults.append("the fault was never met") }
        if run.errors.contains(fault.kind == KITH_FAULT_FULL ? .inputOutput : .diskFull) {
            faults.append("a wrong reason was given: \(run.errors)")
        }
        return faults
    }

    /// What is wrong with what the disk may have after a power cut: when it has nothing that was not synced, and in
    /// variants of what else it has.
    private static func faults(
        _ script: FaultScript, afterPowerCutAt number: Int, isDurable: Bool = true
    ) throws -> [String] {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = try FaultRun(
            path: folder.file(), vfs: vfs, isDurable: isDurable, ledger: script.prepare(folder.file()))
        vfs.arm(.powerCut(at: number))
        run.play(script.steps, untilCall: number)
        run.close()
        // Without syncing there are fewer calls.
        var faults = run.faults + (vfs.count >= number || !isDurable ? [] : ["the power was never cut"])
        for variant in 0...powerVariants {
            let disk = TemporaryFolder(inMemory: true)
            let seed = UInt64(number * 1000 + variant)
            let percent: Int32 = variant == 0 ? 0 : [50, 90, 10, 100][(number + variant) % 4]
            try vfs.save(to: disk.path, seed: seed, percent: percent)
            faults += run.ledger.faults(at: disk.file()).map { "\($0) (seed \(seed), \(percent) %)" }
        }
        return faults
    }
}
