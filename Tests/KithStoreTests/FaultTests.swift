import CFaultVFS
import Testing

/// The disk fails, or the power goes, at every single call with which a database changes its files.
@Suite("Faults of the disk")
struct FaultTests {
    private static let powerVariants = TestLength.isLong ? 20 : 1

    @Test(
        "a call that fails loses nothing that was acknowledged, and writing works again at once",
        arguments: [
            Fault.error(at: 0), .errors(from: 0), .full(at: 0), .full(from: 0),
        ])
    func failingCalls(_ fault: Fault) throws {
        var fault = fault
        let total = try Self.count(fault.kind)
        for number in 1...total {
            fault.number = number
            let faults = try Self.faults(after: fault)
            #expect(faults.isEmpty, "\(fault) of \(total)")
        }
    }

    @Test("after a power cut at any call, everything acknowledged is there and nothing is in halves")
    func powerCuts() throws {
        let total = try Self.count(KITH_FAULT_ERROR)
        for number in 1...total {
            let faults = try Self.faults(afterPowerCutAt: number, variants: Self.powerVariants)
            #expect(faults.isEmpty, "power cut at call \(number) of \(total)")
        }
    }

    @Test("this way of testing finds a database that does not wait for the disk")
    func findsMissingSync() throws {
        let total = try Self.count(KITH_FAULT_ERROR, isDurable: false)
        let isFound = try (1...total).contains { number in
            try Self.faults(afterPowerCutAt: number, variants: 1, isDurable: false).contains { $0.hasPrefix("lost") }
        }
        #expect(isFound)
    }

    @Test("this way of testing finds a write that a disk forgets")
    func findsForgottenWrite() throws {
        let total = try Self.count(KITH_FAULT_ERROR)
        #expect(try (1...total).contains { try !Self.faults(after: .silent(at: $0)).isEmpty })
    }

    /// How many calls the script makes when nothing fails; then nothing may be wrong with it.
    private static func count(_ kind: kith_fault_kind, isDurable: Bool = true) throws -> Int {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = FaultRun(path: folder.file(), vfs: vfs, isDurable: isDurable)
        vfs.arm(.none(kind))
        run.play(FaultScript.steps)
        let count = vfs.count
        #expect(run.faults + run.ledger.faults(at: folder.file()) == [])
        #expect(run.errors.isEmpty && run.ledger.uncertain.isEmpty && !run.ledger.acknowledged.isEmpty)
        return count
    }

    /// What is wrong after the script was played with a fault that has gone then.
    private static func faults(after fault: Fault) throws -> [String] {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = FaultRun(path: folder.file(), vfs: vfs)
        vfs.arm(fault)
        run.play(FaultScript.steps)
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
        afterPowerCutAt number: Int, variants: Int, isDurable: Bool = true
    ) throws -> [String] {
        let folder = TemporaryFolder(inMemory: true)
        let vfs = try FaultVFS()
        let run = FaultRun(path: folder.file(), vfs: vfs, isDurable: isDurable)
        vfs.arm(.powerCut(at: number))
        run.play(FaultScript.steps, untilCall: number)
        run.close()
        let isMet = vfs.count >= number
        var faults = run.faults + (isMet ? [] : ["the power was never cut"])
        for variant in 0...variants {
            let disk = TemporaryFolder(inMemory: true)
            let seed = UInt64(number * 1000 + variant)
            let percent: Int32 = variant == 0 ? 0 : [50, 90, 10, 100][(number + variant) % 4]
            try vfs.save(to: disk.path, seed: seed, percent: percent)
            faults += run.ledger.faults(at: disk.file()).map { "\($0) (seed \(seed), \(percent) %)" }
        }
        return faults
    }
}
