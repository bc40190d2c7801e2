import Glibc
import KithDocuments
import KithStore
import Testing

@Suite("Store: locks on the file")
struct FileLockTests {
    /// What another process sees of the locks on a file.
    private func locks(_ path: String) throws -> String? {
        let probe = try ProbeProcess(["locks", path])
        return probe.readLine()
    }

    @Test("a second database object on one file, opened and closed, does not take away the locks of the first")
    func secondObject() async throws {
        let folder = TemporaryFolder()
        let first = try fileDatabase(folder)
        _ = try first.writeBlocking { try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        #expect(try locks(folder.file()) == "locked")
        let second = try fileDatabase(folder)
        #expect(try locks(folder.file()) == "locked")
        #expect(try second.read { try $0.documentCount } == 1)
        second.close()
        #expect(try locks(folder.file()) == "locked")
        // Under another name of the same file, too.
        try #require(link(folder.file(), folder.file("other name")) == 0)
        #expect(throws: KithError.self) {
            _ = try Database(path: folder.file("no name"), name: DatabaseName("x"), create: false)
        }
        let name = try DatabaseName("x")
        // A restore reads the file by itself: it has to see that it is in use, and not to disturb it.
        await #expect(throws: KithError.self) {
            try await Database.restore(from: folder.file("other name"), to: folder.file("new"), name: name)
        }
        #expect(try locks(folder.file()) == "locked")
        first.close()
        #expect(try locks(folder.file()) == "free")
    }

    @Test("many threads that open and close one file leave it locked while it is open, and free afterwards")
    func manyThreads() async throws {
        let folder = TemporaryFolder()
        let first = try fileDatabase(folder)
        _ = try first.writeBlocking { try $0.put(id("a"), body: bytes("{}"), parent: nil) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20 {
                        let other = try fileDatabase(folder)
                        _ = try other.read { try $0.documentCount }
                        other.close()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try locks(folder.file()) == "locked")
        first.close()
        #expect(try locks(folder.file()) == "free")
    }
}
