import KithDocuments
import KithStore

/// Writes one document for each line of standard input, and prints the sequence when the write is acknowledged.
struct ObeyRole {
    struct BadLine: Error { let line: String }

    let path: String

    func run() throws {
        let database = try Database(path: path, name: DatabaseName("probe"), create: true)
        printLine("ready")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 2 else { throw BadLine(line: line) }
            let id = try DocumentID(words[1])
            let sequence = try database.writeBlocking { transaction in
                let parent = try transaction.document(id)?.revision
                switch (words[0], parent) {
                case ("put", let parent):
                    let body = Array(#"{"after":"\#(parent?.description ?? "")"}"#.utf8)
                    return try transaction.put(id, body: body, parent: parent).sequence
                case ("delete", let parent?):
                    return try transaction.delete(id, parent: parent).sequence
                default:
                    throw BadLine(line: line)
                }
            }
            printLine(String(sequence))
        }
        database.close()
    }
}
