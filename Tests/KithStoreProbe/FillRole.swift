import Glibc
import KithDocuments
import KithStore

/// Does what standard input asks for, on a disk that has little space, without ever ending because of an error:
///
///     open        opens the database, or makes it; answers "open"
///     write KIND  writes until an error comes; prints what is acknowledged
///     try         writes one small document; prints that it is acknowledged
///     read        reads all documents with their bodies; answers "read COUNT"
///     check       looks at the whole file; answers "sound", or what is wrong
///     close       closes it; answers "closed"
///
/// Any of them may answer "error CODE".
final class FillRole {
    private let path: String
    private var database: Database?
    private var count = 0

    init(path: String) { self.path = path }

    func run() {
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            do {
                try answer(words.first ?? "", words.last ?? "")
            } catch let error as KithError {
                printLine("error \(error.code)")
            } catch {
                printLine("error \(error)")
            }
        }
    }

    private func answer(_ command: String, _ kind: String) throws {
        if command == "open" {
            database = try Database(path: path, name: DatabaseName("probe"), create: true)
            return printLine("open")
        }
        guard let database else { return printLine("error not_open") }
        switch command {
        case "write":
            while true { try write(kind, to: database) }
        case "try":
            try write("put", to: database)
        case "read":
            let documents = try database.read { try $0.allDocuments(limit: .max, bodies: true) }
            printLine("read \(documents.count)")
        case "check":
            let faults = try database.findFaults()
            printLine(faults.isEmpty ? "sound" : faults.joined(separator: "; "))
        case "close":
            database.close()
            self.database = nil
            printLine("closed")
        default:
            printLine("error no command: \(command)")
        }
    }

    /// One transaction; one more kind of write is one more line.
    private func write(_ kind: String, to database: Database) throws {
        switch kind {
        case "put": try put(1, length: 500, to: database)
        case "batch": try put(20, length: 500, to: database)
        case "large": try put(1, length: 300_000, to: database)
        case "update": try put(1, length: 2000, isUpdate: true, to: database)
        default: throw KithError(.badRequest, "no kind of write: \(kind)")
        }
    }

    private func put(_ number: Int, length: Int, isUpdate: Bool = false, to database: Database) throws {
        let first = count
        count += number
        let writes = try database.writeBlocking { transaction in
            try (first..<first + number).map { number in
                let id = try DocumentID(isUpdate ? "updated-\(number % 3)" : "document-\(number)")
                let parent = try transaction.document(id)?.revision
                let text = String(repeating: "x", count: length)
                let body = Array(#"{"n":\#(number),"text":"\#(text)"}"#.utf8)
                let (revision, sequence) = try transaction.put(id, body: body, parent: parent)
                return AcknowledgedWrite(id: id, revision: revision, sequence: sequence)
            }
        }
        for write in writes { printLine(write.line) }
    }
}
