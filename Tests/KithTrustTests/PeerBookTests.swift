import Glibc
import KithDocuments
import Testing

@testable import KithTrust

@Suite("The book of peers")
struct PeerBookTests {
    let folder = TemporaryFolder()
    var path: String { folder.path + "/peers.json" }

    static func id(_ number: UInt8) -> NodeID { NodeID(subjectPublicKeyHash: [UInt8](repeating: number, count: 32)) }

    @Test("a peer is found by key, ID, name and short form, also after opening again")
    func addAndFind() throws {
        let book = try PeerBook(path: path)
        #expect(book.peers.isEmpty)
        #expect(folder.names.isEmpty)
        let laptop = try book.add(Self.id(1), name: "laptop", addresses: ["10.0.0.1:4984", "[fe80::1%eth0]:4984"])
        try book.add(Self.id(2), name: "Küche", trustedAt: "2026-01-02T03:04:05Z")
        #expect(folder.names == ["peers.json"])
        #expect(TemporaryFolder.mode(path) == 0o600)
        let again = try PeerBook(path: path)
        #expect(again.peers == book.peers)
        #expect(again.peers.map(\.name) == ["Küche", "laptop"])
        #expect(again.count == 2)
        #expect(again.peer(Self.id(1)) == laptop)
        #expect(again.peer(withPublicKeyHash: [UInt8](repeating: 1, count: 32)) == laptop)
        #expect(again.peer(withPublicKeyHash: [UInt8](repeating: 3, count: 32)) == nil)
        #expect(again.peer(withPublicKeyHash: [1, 1]) == nil)
        #expect(again.peer(named: "laptop") == laptop)
        #expect(try again.find("laptop") == laptop)
        #expect(try again.find(Self.id(1).short.lowercased()) == laptop)
        #expect(try again.find(Self.id(1).description.lowercased()) == laptop)
        #expect(again.peer(named: "Küche")?.trustedAt == "2026-01-02T03:04:05Z")
        #expect(laptop.trustedAt.utf8.count == 20 && laptop.trustedAt.hasSuffix("Z"))
        expectError(.notFound) { try again.find("desk") }
        expectError(.notFound) { try again.find(Self.id(9).short) }
        expectError(.notFound) { try again.find(Self.id(9).description) }
        expectError(.badNodeID) { try again.find(String(Self.id(1).description.dropLast()) + "Z") }
    }

    @Test("adding again changes name and addresses and keeps the day of trust")
    func addAgain() throws {
        let book = try PeerBook(path: path)
        try book.add(Self.id(1), name: "a", addresses: ["h:1"], trustedAt: "2026-01-02T03:04:05Z")
        let renamed = try book.add(Self.id(1), name: "b")
        #expect(renamed == Peer(id: Self.id(1), name: "b", trustedAt: "2026-01-02T03:04:05Z", addresses: ["h:1"]))
        #expect(book.peer(named: "a") == nil)
        #expect(try book.setAddresses(Self.id(1), []).addresses.isEmpty)
        #expect(try book.rename(Self.id(1), to: "c").name == "c")
        #expect(try PeerBook(path: path).peers.map(\.name) == ["c"])
        expectError(.notFound) { try book.rename(Self.id(2), to: "d") }
        expectError(.notFound) { try book.setAddresses(Self.id(2), []) }
    }

    @Test("a known name with another key is an alarm, and nothing changes")
    func nameTaken() throws {
        let book = try PeerBook(path: path)
        try book.add(Self.id(1), name: "caf\u{e9}")
        let before = TemporaryFolder.read(path)
        let error = #expect(throws: KithError.self) { try book.add(Self.id(2), name: "cafe\u{301}") }
        #expect(error?.code == .nameTaken)
        #expect(error?.message.contains(Self.id(1).short) == true)
        #expect(error?.remedy?.contains("unpair") == true)
        #expect(book.peer(Self.id(2)) == nil)
        #expect(TemporaryFolder.read(path) == before)
        try book.add(Self.id(2), name: "b")
        expectError(.nameTaken) { try book.rename(Self.id(2), to: "café") }
    }

    @Test("a removed peer is not trusted any more, also after opening again")
    func remove() throws {
        let book = try PeerBook(path: path)
        try book.add(Self.id(1), name: "a")
        try book.add(Self.id(2), name: "b")
        #expect(try book.remove(Self.id(1)).name == "a")
        #expect(book.peer(Self.id(1)) == nil)
        #expect(try PeerBook(path: path).peers.map(\.name) == ["b"])
        expectError(.notFound) { try book.remove(Self.id(1)) }
        try book.add(Self.id(3), name: "a")
    }

    @Test("a change that cannot be written is an error, and the book stays as it was")
    func notWritable() throws {
        let book = try PeerBook(path: path)
        try book.add(Self.id(1), name: "a")
        // A folder in the place of the partial file keeps every user from writing, root too.
        mkdir(path + ".partial", 0o700)
        #expect(throws: KithError.self) { try book.add(Self.id(2), name: "b") }
        #expect(throws: KithError.self) { try book.remove(Self.id(1)) }
        #expect(book.peers.map(\.name) == ["a"])
        rmdir(path + ".partial")
        TemporaryFolder.write(path + ".partial", "left by a crash".utf8)
        try book.add(Self.id(2), name: "b")
        #expect(folder.names == ["peers.json"])
    }

    @Test("a book cut short at any byte is refused, never taken as an empty or shorter one")
    func cut() throws {
        let book = try PeerBook(path: path)
        try book.add(Self.id(1), name: "a", addresses: ["h:1"])
        try book.add(Self.id(2), name: "b")
        let whole = TemporaryFolder.read(path)
        for count in 0..<whole.count - 2 {
            TemporaryFolder.write(path, whole.prefix(count))
            expectError(.damaged) { try PeerBook(path: path) }
        }
    }

    static let goodID = id(1).description
    static let goodPeer = "{\"id\":\"\(goodID)\",\"name\":\"a\",\"trustedAt\":\"t\"}"

    @Test(
        "a book that is not understood completely is refused",
        arguments: [
            "", "[]", "{}", "null", "{\"format\":1}", "{\"format\":\"1\",\"peers\":[]}", "{\"format\":0,\"peers\":[]}",
            "{\"format\":1,\"peers\":{}}", "{\"format\":1,\"peers\":[1]}", "{\"format\":1,\"peers\":[],\"grants\":[]}",
            "{\"format\":1,\"peers\":[\(goodPeer),\(goodPeer)]}",
            "{\"format\":1,\"peers\":[\(goodPeer),\(goodPeer.replacing(goodID, with: id(2).description))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing(goodID, with: String(goodID.dropLast())))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing("\"a\"", with: "\"a\\n\""))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing("\"t\"", with: "5"))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing("}", with: ",\"admin\":true}"))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing("}", with: ",\"addresses\":\"h:1\"}"))]}",
            "{\"format\":1,\"peers\":[\(goodPeer.replacing("}", with: ",\"addresses\":[\"h h\"]}"))]}",
        ])
    func malformed(text: String) {
        TemporaryFolder.write(path, text.utf8)
        let error = #expect(throws: KithError.self) { try PeerBook(path: path) }
        #expect(error?.code == .damaged)
        #expect(error?.message.contains("peers.json") == true)
    }

    @Test("how databases are shared is kept, also when the peer is renamed, and goes with it")
    func sharing() throws {
        let (notes, photos) = (try DatabaseName("notes"), try DatabaseName("photos"))
        let book = try PeerBook(path: path)
        let peer = try book.add(Self.id(1), name: "a")
        #expect(peer.access(to: notes) == .both)
        #expect(peer.replication(of: notes) == .continuous)
        // A version that knows nothing of it can still read the file.
        #expect(String(decoding: TemporaryFolder.read(path), as: UTF8.self).contains("\"format\": 1"))
        try book.setSharing(Self.id(1), of: nil) { $0.access = .read }
        try book.setSharing(Self.id(1), of: notes) { $0 = PeerSharing(access: .noAccess, replication: .manual) }
        try book.add(Self.id(1), name: "b", addresses: ["h:1"])
        #expect(String(decoding: TemporaryFolder.read(path), as: UTF8.self).contains("\"format\": 2"))
        let again = try PeerBook(path: path)
        #expect(again.peers == book.peers)
        let kept = try again.find("b")
        #expect(kept.access(to: notes) == .noAccess)
        #expect(kept.replication(of: notes) == .manual)
        #expect(kept.access(to: photos) == .read)
        #expect(kept.replication(of: photos) == .continuous)
        // What is taken back is not said any more.
        try again.setSharing(Self.id(1), of: notes) { $0 = PeerSharing() }
        #expect(try again.find("b").databases.isEmpty)
        #expect(try again.find("b").access(to: notes) == .read)
        expectError(.notFound) { try again.setSharing(Self.id(2), of: nil) { $0.access = .read } }
        try again.remove(Self.id(1))
        #expect(try again.add(Self.id(1), name: "b").access(to: photos) == .both)
    }

    @Test("the book says something of 1,000 databases of a peer and not of one more")
    func sharedDatabases() throws {
        let members = try (0..<TrustLimits.sharedDatabasesPerPeerMax).map {
            "\"\(try DatabaseName("d\($0)"))\":{\"access\":\"none\"}"
        }
        func write(_ members: [String]) {
            let peer = Self.goodPeer.replacing("}", with: ",\"databases\":{\(members.joined(separator: ","))}}")
            TemporaryFolder.write(path, "{\"format\":2,\"peers\":[\(peer)]}".utf8)
        }
        write(members)
        let book = try PeerBook(path: path)
        let more = try DatabaseName("more")
        expectError(.tooLarge) { try book.setSharing(Self.id(1), of: more) { $0.access = .read } }
        try book.setSharing(Self.id(1), of: more) { $0.access = nil }
        write(members + ["\"more\":{\"access\":\"none\"}"])
        expectError(.damaged) { try PeerBook(path: path) }
    }

    @Test(
        "a sharing that is not understood completely is refused",
        arguments: [
            ",\"access\":\"all\"}", ",\"access\":null}", ",\"replication\":\"often\"}", ",\"replication\":1}",
            ",\"databases\":[]}", ",\"databases\":{\"notes\":\"read\"}}", ",\"databases\":{\"_x\":{}}}",
            ",\"databases\":{\"notes\":{\"acess\":\"none\"}}}", ",\"databases\":{\"notes\":{\"access\":\"Read\"}}}",
        ])
    func malformedSharing(_ end: String) {
        for format in 1...2 {
            let peer = Self.goodPeer.replacing("}", with: end)
            TemporaryFolder.write(path, "{\"format\":\(format),\"peers\":[\(peer)]}".utf8)
            expectError(.damaged) { try PeerBook(path: path) }
        }
        TemporaryFolder.write(
            path,
            "{\"format\":1,\"peers\":[\(Self.goodPeer.replacing("}", with: ",\"access\":\"read\"}"))]}".utf8)
        expectError(.damaged) { try PeerBook(path: path) }
    }

    @Test("a book of a newer format is refused as such")
    func newer() {
        TemporaryFolder.write(path, "{\"format\":5,\"everything\":\"else\"}".utf8)
        expectError(.newerFormat) { try PeerBook(path: path) }
    }

    @Test(
        "a book that others may write to is refused, since they could let anybody in", arguments: [0o620, 0o602, 0o666])
    func writableByOthers(mode: Int) throws {
        try PeerBook(path: path).add(Self.id(1), name: "a")
        chmod(path, mode_t(mode))
        expectError(.badConfiguration) { try PeerBook(path: path) }
    }

    @Test(
        "addresses that cannot be any are refused",
        arguments: [
            [""], ["a b"], ["é"], ["a\n"], [String(repeating: "a", count: 301)], [String](repeating: "h:1", count: 17),
        ])
    func badAddresses(addresses: [String]) throws {
        let book = try PeerBook(path: path)
        expectError(.badConfiguration) { try book.add(Self.id(1), name: "a", addresses: addresses) }
        #expect(book.peers.isEmpty)
    }

    @Test("changes and look-ups from many threads at once all count")
    func threads() async throws {
        let book = try PeerBook(path: path)
        await withTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<24 {
                group.addTask {
                    _ = try? book.add(Self.id(number), name: "peer \(number)")
                    _ = book.peer(named: "peer 0")
                    if number % 3 == 0 { _ = try? book.remove(Self.id(number)) }
                }
            }
        }
        #expect(book.count == 16)
        #expect(try PeerBook(path: path).peers == book.peers)
    }

    @Test("the book takes 10,000 peers and not one more")
    func full() throws {
        let entries = (0..<TrustLimits.peersMax).map { number -> String in
            var hash = [UInt8](repeating: 0, count: 32)
            hash[0] = UInt8(number >> 8)
            hash[1] = UInt8(number & 255)
            return "{\"id\":\"\(NodeID(subjectPublicKeyHash: hash))\",\"name\":\"p\(number)\",\"trustedAt\":\"t\"}"
        }
        TemporaryFolder.write(path, "{\"format\":1,\"peers\":[\(entries.joined(separator: ","))]}".utf8)
        let book = try PeerBook(path: path)
        #expect(book.count == TrustLimits.peersMax)
        expectError(.tooLarge) { try book.add(Self.id(255), name: "one more") }
        try book.rename(book.peers[0].id, to: "renamed")
    }
}
