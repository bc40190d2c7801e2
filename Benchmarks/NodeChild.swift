import CLinux
import Glibc
import Kith
import KithDocuments
import KithStore
import KithTrust

/// The other end of `NodeProcess`: a whole node without discovery, on loopback.
final class NodeChild {
    private let home: NodeHome
    private var node: Node?
    private var databases: [String: Database] = [:]

    private init(home: NodeHome) { self.home = home }

    /// Makes a home and prints the node's ID, then obeys commands until the input ends.
    ///
    /// - Parameter arguments: the home's path and the node's name.
    static func run(_ arguments: [String]) async throws {
        let child = NodeChild(home: try NodeHome.create(at: arguments[0], name: arguments[1], port: 0))
        print(child.home.identity.nodeID.description)
        while let line = readLine() {
            print(try await child.answer(line.split(separator: " ").map(String.init)))
        }
        await child.node?.stop()
    }

    private func answer(_ words: [String]) async throws -> String {
        func number(_ index: Int) -> Int { words.count > index ? Int(words[index]) ?? 0 : 0 }
        switch words[0] {
        case "trust": try home.peerBook.add(NodeID(parsing: words[1]), name: words[2])
        case "start":
            var options = NodeOptions()
            options.discovers = false
            options.listen = "127.0.0.1"
            options.peers = Array(words.dropFirst())
            let node = try await Node.start(home: home, options: options)
            self.node = node
            return String(await node.port)
        case "create":
            try await node?.createDatabase(DatabaseName(words[1]))
            databases[words[1]] = try await node?.database(DatabaseName(words[1]))
        case "load": try await load(try database(words[1]), count: number(2), bytes: number(3))
        case "attach": try await attach(try database(words[1]), mebibytes: number(2))
        case "await": return String(try await reach(number(2), in: try database(words[1])))
        case "put":
            let id = try DocumentID(words[2])
            _ = try await database(words[1]).write { transaction in
                try transaction.put(id, body: BenchmarkDocuments.body(1), parent: nil)
            }
            return String(Stopwatch.nanoseconds)
        case "digest": return try database(words[1]).read { try $0.digest().hex }
        case "reset-peak": try MemoryPeak.reset()
        case "peak": return String(Double(try MemoryPeak.kibibytes()) / 1024)
        case "cpu": return String(Stopwatch.usage.cpuSeconds)
        case "wire": return String(WireBytes.total)
        case "tls-receive":
            return String(
                try RawTLS.receive(identityFolder: home.path + "/identity", mebibytes: number(1)) { print($0) })
        case "tls-send":
            try RawTLS.send(
                identityFolder: home.path + "/identity", mebibytes: number(1), to: UInt16(clamping: number(2)))
        default: throw KithError(.badRequest, "unknown command \(words[0])")
        }
        return "ok"
    }

    private func database(_ name: String) throws -> Database {
        guard let database = databases[name] else { throw KithError(.databaseNotFound, "there is no database \(name)") }
        return database
    }

    private func load(_ database: Database, count: Int, bytes: Int) async throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            try await database.write { transaction in
                for number in start..<min(start + 1_000, count) {
                    try transaction.put(
                        try DocumentID(BenchmarkDocuments.id(number)),
                        body: BenchmarkDocuments.body(number, bytes: bytes), parent: nil)
                }
            }
        }
    }

    /// Puts one document with an attachment of so many MiB.
    private func attach(_ database: Database, mebibytes: Int) async throws {
        let blob = try await BlobBenchmark.write(database, mebibytes: mebibytes, seed: 1)
        _ = try await database.write { transaction in
            try transaction.put(
                try DocumentID("scan"), body: Array("{}".utf8), parent: nil,
                attachments: AttachmentList([
                    try DocumentAttachment(
                        name: "scan.raw", digest: blob.digest, length: blob.length,
                        contentType: "application/octet-stream", revpos: 1)
                ]))
        }
    }

    /// Waits until the database has so many documents.
    ///
    /// - Returns: when that was, in nanoseconds of the machine's clock.
    private func reach(_ count: Int, in database: Database) async throws -> UInt64 {
        for await _ in Self.changes(of: database) where try database.read({ try $0.documentCount }) >= count { break }
        return Stopwatch.nanoseconds
    }

    /// One element now and one after each change.
    private static func changes(of database: Database) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield()
            let token = database.observe { _ in continuation.yield() }
            continuation.onTermination = { _ in token.cancel() }
        }
    }
}
