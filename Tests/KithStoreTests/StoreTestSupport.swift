import Glibc
import KithDocuments
import KithStore

/// A folder of a test's own, removed with this object.
final class TemporaryFolder: Sendable {
    let path: String

    /// Makes one; `inMemory` is for tests that play the disk's part themselves, and need none that is slow.
    init(inMemory: Bool = false) {
        let parent = inMemory && access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp"
        var template = Array("\(parent)/kith-store-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            mkdtemp(buffer.baseAddress!)
            return String(cString: buffer.baseAddress!)
        }
    }

    deinit {
        for name in names { unlink(path + "/" + name) }
        rmdir(path)
    }

    /// What is in it.
    var names: [String] {
        guard let folder = opendir(path) else { return [] }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func file(_ name: String = "test.kith") -> String { path + "/" + name }
}

/// The bytes of a file.
func contents(_ path: String) -> [UInt8]? {
    let file = open(path, O_RDONLY)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
        let count = read(file, &piece, piece.count)
        guard count > 0 else { return bytes }
        bytes.append(contentsOf: piece[..<count])
    }
}

/// Makes or replaces a file.
func write(_ bytes: [UInt8], to path: String) {
    let file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    var position = 0
    while position < bytes.count {
        let count = bytes[position...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        precondition(count > 0)
        position += count
    }
    close(file)
}

/// What a power cut would leave of a database that is open.
func copyAsCrashImage(_ path: String, to copy: String) {
    for suffix in ["", "-wal"] {
        if let bytes = contents(path + suffix) { write(bytes, to: copy + suffix) }
    }
}

/// A database in memory, on the calling thread.
func memoryDatabase() throws -> Database {
    try Database(
        path: ":memory:", name: DatabaseName("memory"), create: true, options: DatabaseOptions(writer: .caller))
}

func fileDatabase(
    _ folder: TemporaryFolder, create: Bool = true, options: DatabaseOptions = DatabaseOptions()
) throws -> Database {
    try Database(path: folder.file(), name: DatabaseName("test"), create: create, options: options)
}

func id(_ text: String) throws -> DocumentID { try DocumentID(text) }
func revision(_ text: String) throws -> RevisionID { try RevisionID(parsing: text) }
func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// An incoming revision; the first of `revisions` is the revision itself, the rest its history.
func incoming(
    _ name: String, _ revisions: [String], deleted: Bool = false, body: String? = nil
) throws -> IncomingRevision {
    try IncomingRevision(
        id: id(name), revision: revision(revisions[0]), history: revisions.dropFirst().map { try revision($0) },
        isDeleted: deleted, body: bytes(body ?? (deleted ? "{}" : #"{"from":"\#(revisions[0])"}"#)))
}

/// All orders of some elements.
func permutations<Element>(_ elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}

/// Numbers that look random and are the same for one seed.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// A failure of a test's own.
struct Refusal: Error {}

func code(_ body: () throws -> Void) -> ErrorCode? {
    do {
        try body()
        return nil
    } catch {
        return (error as? KithError)?.code
    }
}
