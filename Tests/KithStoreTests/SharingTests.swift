import KithDocuments
import KithStore
import Testing

/// One file, two processes that write to it.
@Suite("Two processes on one database")
struct SharingTests {
    private static let seconds = TestLength.isLong ? 60 : 5

    @Test("several that make the same database at once have one and the same")
    func creation() throws {
        for _ in 0..<10 {
            let folder = TemporaryFolder()
            let probes = try (1...4).map { try ProbeProcess(["share", folder.file(), String($0), "0"]) }
            let ready = Set(probes.map { $0.readLine() ?? "" })
            #expect(ready.count == 1 && ready.first?.hasPrefix("ready ") == true)
            for probe in probes {
                probe.send("go\n")
                _ = probe.readLines()
                #expect(probe.wait() == 0)
            }
            #expect(folder.names == ["test.kith"])
        }
    }

    @Test("both count up in the same documents: no update is lost, and no error but the conflicts comes")
    func counters() throws {
        let folder = TemporaryFolder()
        let probes = try (1...2).map {
            try ProbeProcess(["share", folder.file(), String($0), String(Self.seconds)])
        }
        for probe in probes { #expect(probe.readLine()?.hasPrefix("ready ") == true) }
        for probe in probes { probe.send("go\n") }
        var added = 0
        for probe in probes {
            let words = probe.readLines().flatMap { $0.split(separator: " ") }
            #expect(probe.wait() == 0)
            try #require(words.count == 6, "the other process says \(words)")
            let own = Int(words[1]) ?? 0
            // Neither is kept from writing by the other.
            #expect(own > 0)
            added += own
            // A write that has to wait gets its turn long before the store gives up, after 10 seconds.
            #expect(Int(words[5]) ?? .max < 2000, "milliseconds")
        }
        let database = try fileDatabase(folder, create: false)
        defer { database.close() }
        let sum = try database.read { snapshot in
            try snapshot.allDocuments(limit: 100, bodies: true).map { document in
                Int(text(document.body).filter(\.isNumber)) ?? 0
            }.reduce(0, +)
        }
        #expect(sum == added)
        #expect(try database.findFaults() == [])
    }
}
