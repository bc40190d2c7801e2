import CLinux
import Glibc
import Kith
import KithDocuments
import KithStore
import KithTrust

/// The other end of `NodeProcess`: a whole node without discovery, on loopback.
enum NodeChild {
    /// Makes a home and prints the node's ID, then obeys commands until the input ends.
    ///
    /// - Parameter arguments: the home's path and the node's name.
    static func run(_ arguments: [String]) async throws {
        let home = try NodeHome.create(at: arguments[0], name: arguments[1], port: 0)
        let name = try DatabaseName("readings")
        say(home.identity.nodeID.description)
        var node: Node?
        var database: Database?
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            switch words[0] {
            case "trust":
                try home.peerBook.add(NodeID(parsing: words[1]), name: words[2])
                say("ok")
            case "start":
                var options = NodeOptions()
                options.discovers = false
                options.listen = "127.0.0.1"
                options.peers = Array(words.dropFirst())
                node = try await Node.start(home: home, options: options)
                guard let node else { return }
                say(String(await node.port))
            case "create":
                try await node?.createDatabase(name)
                database = try await node?.database(name)
                say("ok")
            case "load":
                let count = Int(words[1]) ?? 0
                for start in stride(from: 0, to: count, by: 1_000) {
                    try await database?.write { transaction in
                        for number in start..<min(start + 1_000, count) {
                            try transaction.put(
                                try DocumentID(BenchmarkDocuments.id(number)), body: BenchmarkDocuments.body(number),
                                parent: nil)
                        }
                    }
                }
                say("ok")
            case "await":
                // The time at which the database has so many documents.
                let count = Int(words[1]) ?? 0
                guard let database else { return }
                for await _ in changes(of: database) where try database.read({ try $0.documentCount }) >= count {
                    break
                }
                say(String(Stopwatch.nanoseconds))
            case "put":
                guard let database else { return }
                let id = try DocumentID(words[1])
                _ = try await database.write { transaction in
                    try transaction.put(id, body: BenchmarkDocuments.body(1), parent: nil)
                }
                say(String(Stopwatch.nanoseconds))
            case "digest": say(try database?.read { try $0.digest().hex } ?? "none")
            case "peak": say(String(Stopwatch.usage.peakMebibytes))
            case "cpu": say(String(Stopwatch.usage.cpuSeconds))
            default: say("unknown command")
            }
        }
        await node?.stop()
    }

    /// One element now and one after each change.
    private static func changes(of database: Database) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            continuation.yield()
            let token = database.observe { _ in continuation.yield() }
            continuation.onTermination = { _ in token.cancel() }
        }
    }

    private static func say(_ line: String) { print(line) }
}
