import Glibc
import KithSimulation

/// Plays seeds of the simulation, one after the other, until one fails: for `Tests/simulate`, which starts several of these.
///
///     KithSimulate FIRST STEP LAST     plays FIRST, FIRST + STEP, … up to LAST
///     KithSimulate SEED                plays one, and prints what happens
///
/// Each seed is printed before it is played, so that whoever reads knows which one a crash belongs to. Ends with 1 after a
/// seed that failed, with 64 when it does not understand what it is to do.
@main
struct KithSimulate {
    static func main() async {
        let numbers = CommandLine.arguments.dropFirst().compactMap(UInt64.init)
        guard numbers.count == CommandLine.arguments.count - 1 else { return refuse() }
        switch numbers.count {
        case 1: await play(numbers[0], keepsLog: true)
        case 3 where numbers[1] > 0:
            for seed in stride(from: numbers[0], through: numbers[2], by: Int(numbers[1])) {
                say("seed \(seed)")
                await play(seed, keepsLog: false)
            }
        default: refuse()
        }
    }

    private static func play(_ seed: UInt64, keepsLog: Bool) async {
        do {
            let report = try await Simulation(.random(seed: seed), keepsLog: keepsLog).run()
            for line in report.log { say(line) }
            if keepsLog {
                say(
                    "\(report.acknowledged) writes, \(report.bodiesReceived) revisions sent, \(report.frames) frames, "
                        + "\(report.conflicts) conflicts at the end, \(report.seconds) s")
            }
            guard !report.failures.isEmpty else { return }
            say("failed \(report.summary)")
        } catch {
            say("failed seed \(seed): \(error)")
        }
        exit(1)
    }

    private static func refuse() {
        say("KithSimulate SEED, or KithSimulate FIRST STEP LAST")
        exit(64)
    }

    private static func say(_ line: String) {
        print(line)
        fflush(nil)
    }
}
