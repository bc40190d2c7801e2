import KithStore

import KithDocuments

/// What is played on a database while its disk fails.
struct FaultScript: Sendable {
    /// Puts a file there before anything fails, and says what it holds.
    var prepare: @Sendable (_ path: String) throws -> Ledger = { _ in Ledger() }
    let steps: [FaultRun.Step]

    /// Everything that a database can be asked. One more operation is one more line.
    static let operations = FaultScript(steps: [
        { try $0.open() },
        { try $0.write { [try Ledger.put($0, "a", #"{"n":1}"#)] } },
        { try $0.write { [try Ledger.put($0, "b", #"{"n":1}"#)] } },
        { try $0.write { [try Ledger.put($0, "a", #"{"n":2}"#)] } },
        { try $0.write { [try Ledger.delete($0, "b")] } },
        { try $0.write { [try Ledger.insert($0, "a", "1-")] } },
        { try $0.setLocalDocument("1") },
        { try $0.write { [try Ledger.attach($0, "photo")] } },
        { try $0.write { [try Ledger.attach($0, "letter")] } },
        { try $0.write { try batch($0, 8, "x") } },
        { $0.checkpoint() },
        { try $0.write { try batch($0, 4, "y") } },
        {
            try $0.writeTogether([
                { [try Ledger.put($0, "c", #"{"together":1}"#)] },
                { transaction in
                    _ = try Ledger.put(transaction, "never", "{}")
                    throw Refusal()
                },
                { [try Ledger.put($0, "d", #"{"together":2}"#), try Ledger.put($0, "e", "{}")] },
            ])
        },
        { $0.close() },
        { try $0.open() },
        { try $0.setLocalDocument("2") },
        { try $0.write { [try Ledger.put($0, "b", #"{"back":true}"#)] } },
        { try $0.write { [try Ledger.delete($0, "photo")] } },
        { try $0.write { try batch($0, 3, "z") } },
        {
            try $0.write { transaction in
                let notes = try CollectionName("notes")
                try transaction.createCollection(notes)
                return try [
                    Ledger.put(transaction, "a", #"{"n":1}"#), Ledger.put(transaction, "a", #"{"n":1}"#, in: notes),
                ]
            }
        },
        { try $0.write { [try Ledger.put($0, "a", #"{"n":2}"#, in: CollectionName("notes"))] } },
        {
            try $0.write { transaction in
                try transaction.setSettings(DatabaseSettings(keepsOldBodies: true))
                return [try Ledger.put(transaction, "a", #"{"n":3}"#)]
            }
        },
        { try $0.write { try Ledger.resolve($0, "a") } },
        { try $0.remove({ $0.collection == .default && $0.id.text == "b" }) { try $0.purge(id("b")) } },
        { try $0.write { try Ledger.contest($0, "m") } },
        { try $0.write { try Ledger.merge($0, "m") } },
        { try $0.refuse("r-1") },
        { try $0.refuse("r-2") },
        { try $0.expire("c") },
        { try $0.compact() },
        { try $0.remove({ $0.collection != .default }) { try $0.dropCollection(CollectionName("notes")) } },
    ])

    /// A blob of several pieces is streamed in, used, and removed again; apart from the others, since it is many calls.
    static let blobs = FaultScript(steps: [
        { try $0.open() },
        { try $0.stream("film") },
        { try $0.write { [try Ledger.delete($0, "film")] } },
        { try $0.compact() },
    ])

    /// The beginning of a blob that a process left is taken up again, or what the disk has kept of it.
    static let beginnings = FaultScript(steps: [
        { try $0.open() },
        { try $0.beginReel() },
        { try $0.open() },
        { try $0.endReel("reel") },
    ])

    /// A commit that does not wait for the disk, and some after it that do.
    static let flushes = FaultScript(steps: [
        { try $0.open() },
        { try $0.stream("film") },
        { try $0.write { [try Ledger.put($0, "after", "{}")] } },
    ])

    /// A file of format 1 is opened, which brings it to the format of today.
    static let migration = FaultScript(
        prepare: { path in
            try MigrationTests().makeFormat1(path)
            var ledger = Ledger()
            ledger.publicID = "00112233445566778899aabbccddeeff"
            ledger.acknowledge(local: "1")
            ledger.acknowledge(
                try [
                    ("plain", "1-aa", 4), ("contested", "1-cc", 3), ("contested", "2-aa", 5), ("contested", "2-bb", 7),
                ]
                .map { try Ledger.Write(id: id($0.0), revision: revision($0.1), sequence: $0.2) })
            return ledger
        },
        steps: [{ try $0.open() }])

    /// Several documents in one transaction, each larger than a page of the file.
    private static func batch(
        _ transaction: WriteTransaction, _ count: Int, _ letter: Character
    ) throws -> [Ledger.Write] {
        let text = String(repeating: letter, count: 3000)
        return try (0..<count).map { try Ledger.put(transaction, "batch-\($0)", #"{"text":"\#(text)"}"#) }
    }
}
