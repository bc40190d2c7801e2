import Glibc
import KithDocuments
import KithTrust

/// Two nodes in two processes that trust each other, linked over loopback TLS 1.3 with both certificates.
///
/// The receiver is the one whose ID lets it dial at once, so that no measurement has a moment of courtesy in it.
struct NodePair {
    let sender: NodeProcess
    let receiver: NodeProcess

    /// What one first replication took.
    struct FirstReplication {
        /// From the moment at which the receiver makes the database until it has all, the making of the link included.
        var seconds: Double
        /// Processor time of both processes.
        var processorSeconds: Double
    }

    init(folder: String) throws {
        var nodes: [(process: NodeProcess, id: NodeID)] = []
        for name in ["a", "b"] {
            let process = try NodeProcess(["--node", folder + "/" + name, name])
            nodes.append((process, try NodeID(parsing: try process.line())))
        }
        nodes.sort { $1.id < $0.id }
        (sender, receiver) = (nodes[0].process, nodes[1].process)
        _ = try sender.ask("trust \(nodes[1].id) receiver")
        _ = try receiver.ask("trust \(nodes[0].id) sender")
        let port = try sender.ask("start")
        _ = try receiver.ask("start 127.0.0.1:\(port)")
    }

    func stop() {
        sender.stop()
        receiver.stop()
    }

    /// Processor seconds of both processes since they began.
    func processorSeconds() throws -> Double { try sender.askNumber("cpu") + receiver.askNumber("cpu") }

    /// Replicates a database that the sender has to the receiver, which makes it now; both are the same afterwards.
    func replicate(_ database: String, count: Int) throws -> FirstReplication {
        let before = try processorSeconds()
        for node in [sender, receiver] { _ = try node.ask("reset-peak") }
        let start = Stopwatch.nanoseconds
        _ = try receiver.ask("create \(database)")
        let end = try receiver.askNumber("await \(database) \(count)")
        let processor = try processorSeconds() - before
        return FirstReplication(seconds: (end - Double(start)) / 1e9, processorSeconds: processor)
    }

    func checkSame(_ database: String) throws {
        guard try sender.ask("digest \(database)") == receiver.ask("digest \(database)") else {
            throw KithError(.internal, "the two databases are not the same after replication")
        }
    }
}
