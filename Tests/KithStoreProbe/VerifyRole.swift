import Glibc
import KithDocuments
import KithStore

/// Reads lines of acknowledged writes and says on standard output what is not as it was promised; ends with 1 then.
struct VerifyRole {
    let path: String

    func run() throws {
        let database = try Database(path: path, name: DatabaseName("probe"), create: false)
        var faults = try database.findFaults()
        var writes: [AcknowledgedWrite] = []
        while let line = readLine() {
            if let write = AcknowledgedWrite(line: line) {
                writes.append(write)
            } else {
                faults.append("no line of the probe: \(line)")
            }
        }
        faults += try database.read { try Self.faults(of: writes, in: $0) }
        database.close()
        for fault in faults { printLine(fault) }
        exit(faults.isEmpty ? 0 : 1)
    }

    private static func faults(of writes: [AcknowledgedWrite], in snapshot: Snapshot) throws -> [String] {
        var faults: [String] = []
        let last = try snapshot.lastSequence
        var writerOfSequence: [UInt64: AcknowledgedWrite] = [:]
        for write in writes {
            if let other = writerOfSequence.updateValue(write, forKey: write.sequence) {
                faults.append("one sequence was acknowledged twice: \(other.line), \(write.line)")
            }
            if write.sequence > last { faults.append("the last sequence \(last) is below that of \(write.line)") }
        }
        for (id, writes) in Dictionary(grouping: writes, by: \.id) {
            guard let document = try snapshot.document(id) else {
                faults += writes.map { "lost with its document: \($0.line)" }
                continue
            }
            var known = Set(document.leaves.map(\.revision))
            for leaf in document.leaves { known.formUnion(try snapshot.history(id, leaf.revision) ?? []) }
            // So far back, revisions are forgotten.
            let forgotten =
                document.revision.generation
                - min(
                    document.revision.generation, UInt64(StoreLimits.revisionsLimitDefault))
            for write in writes where !known.contains(write.revision) && write.revision.generation > forgotten {
                faults.append("lost: \(write.line)")
            }
            if let latest = writes.max(by: { $0.sequence < $1.sequence }), document.sequence < latest.sequence {
                faults.append("\(id.text) is back at sequence \(document.sequence) before \(latest.line)")
            }
        }
        return faults
    }
}
