import KithStore

/// What is played on a database while its disk fails. One more operation of the store is one more line.
enum FaultScript {
    static let steps: [FaultRun.Step] = [
        { try $0.open() },
        { try $0.write { [try Ledger.put($0, "a", #"{"n":1}"#)] } },
        { try $0.write { [try Ledger.put($0, "b", #"{"n":1}"#)] } },
        { try $0.write { [try Ledger.put($0, "a", #"{"n":2}"#)] } },
        { try $0.write { [try Ledger.delete($0, "b")] } },
        { try $0.write { [try Ledger.insert($0, "a", "1-")] } },
        { try $0.setLocalDocument("1") },
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
        { try $0.write { try batch($0, 3, "z") } },
    ]

    /// Several documents in one transaction, each larger than a page of the file.
    private static func batch(
        _ transaction: WriteTransaction, _ count: Int, _ letter: Character
    ) throws -> [Ledger.Write] {
        let text = String(repeating: letter, count: 3000)
        return try (0..<count).map { try Ledger.put(transaction, "batch-\($0)", #"{"text":"\#(text)"}"#) }
    }
}
