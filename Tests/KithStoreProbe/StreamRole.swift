import Glibc
import KithDocuments
import KithStore

/// Streams blobs in, one after the other, each used by a document, until it is killed; goes on with what a process before it
/// has left. It prints "resumed BYTES" at the beginning of each, "added" for each piece that was taken, and what `WriteRole`
/// prints for a document.
struct StreamRole {
    let path: String
    let seed: UInt64
    /// Pieces after which it goes no further and waits to be killed.
    let piecesMax: UInt64

    private static let blobBytes = 2_400_000
    private static let stepBytes = 150_000

    func run() throws {
        let database = try Database(path: path, name: DatabaseName("probe"), create: true)
        printLine("ready")
        for number in seed... { try stream(number, into: database) }
    }

    private func stream(_ number: UInt64, into database: Database) throws {
        // The same for the same number, so that the next process can go on.
        var random = SeededGenerator(state: number)
        var block: [UInt8] = []
        for _ in 0..<512 { withUnsafeBytes(of: random.next()) { block.append(contentsOf: $0) } }
        var bytes: [UInt8] = []
        while bytes.count < Self.blobBytes { bytes.append(contentsOf: block) }
        // Only what is there in a database tells its SHA-1 here.
        let scratch = try Database(path: ":memory:", name: DatabaseName("scratch"), create: true)
        let all = bytes
        let blob = try scratch.writeBlocking { try $0.addBlob(all) }
        scratch.close()
        let writer = try Self.wait { database.resumeBlob(digest: blob.digest, length: blob.length, completion: $0) }
        printLine("resumed \(writer.byteCount)")
        var pieces: UInt64 = 0
        for start in stride(from: Int(writer.byteCount), to: bytes.count, by: Self.stepBytes) {
            let piece = Array(bytes[start..<min(start + Self.stepBytes, bytes.count)])
            try Self.wait { writer.append(piece, completion: $0) }
            printLine("added")
            pieces += 1
            while pieces >= piecesMax { pause() }
        }
        _ = try Self.wait { writer.finish(completion: $0) }
        printLine("finished")
        let attachment = try DocumentAttachment(
            name: "film", digest: blob.digest, length: blob.length, contentType: nil, revpos: 1)
        let id = try DocumentID("film-\(number)")
        let (revision, sequence) = try database.writeBlocking {
            try $0.put(id, body: Array("{}".utf8), parent: nil, attachments: AttachmentList([attachment]))
        }
        printLine(AcknowledgedWrite(id: id, revision: revision, sequence: sequence).line)
    }

    private static func wait<T: Sendable>(
        _ call: (@escaping @Sendable (Result<T, any Error>) -> Void) -> Void
    ) throws -> T {
        let gate = ProbeGate()
        let answer = ProbeAnswer<T>()
        call { result in
            answer.result = result
            gate.open()
        }
        gate.wait()
        guard let result = answer.result else { throw KithError(.internal, "no answer") }
        return try result.get()
    }

    /// `@unchecked Sendable`: written before the gate opens and read after it.
    private final class ProbeAnswer<T: Sendable>: @unchecked Sendable {
        var result: Result<T, any Error>?
    }
}
