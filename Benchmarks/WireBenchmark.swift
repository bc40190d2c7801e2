import KithDocuments
import KithWire

/// BLIP and the canonical form, in memory: what a message costs without sockets and disks.
enum WireBenchmark {
    static func run(_ report: BenchmarkReport, count: Int) throws {
        for isCompressed in [false, true] {
            let sender = BLIPConnection()
            let receiver = BLIPConnection()
            var frame: [UInt8] = []
            var received = 0
            let seconds = try Stopwatch.seconds {
                for number in 0..<count {
                    sender.send(
                        BLIPOutgoing(
                            properties: [
                                "Profile": "rev", "id": BenchmarkDocuments.id(number), "sequence": String(number),
                            ],
                            body: BenchmarkDocuments.body(number), isUrgent: false, isNoReply: true,
                            isCompressed: isCompressed), tag: 0)
                    while true {
                        frame.removeAll(keepingCapacity: true)
                        guard sender.appendNextFrame(to: &frame) else { break }
                        received += try frame.withUnsafeBytes { try receiver.receive($0) }.count
                    }
                }
            }
            guard received == count else { throw KithError(.internal, "\(received) of \(count) messages arrived") }
            report.add(
                BenchmarkRow(
                    suite: "wire", row: "BLIP messages there, \(isCompressed ? "compressed" : "as they are")",
                    figure: Double(count) / seconds, unit: "messages/s"))
        }
        var bytes = 0
        let seconds = try Stopwatch.seconds {
            for number in 0..<count { bytes += try CanonicalJSON.canonicalize(BenchmarkDocuments.body(number)).count }
        }
        report.add(
            BenchmarkRow(
                suite: "wire", row: "canonical form of a document", figure: Double(count) / seconds, unit: "documents/s"
            ))
    }
}
