import KithTransport
import KithTrust
import Testing

@testable import KithNode

@Suite("The book of addresses")
struct AddressBookTests {
    private func id(_ byte: UInt8) -> NodeID { NodeID(subjectPublicKeyHash: Array(repeating: byte, count: 32)) }
    private func address(_ text: String) throws -> SocketAddress { try SocketAddress(parsing: text, defaultPort: 4984) }

    @Test("a configured address is tried for everybody until somebody has answered there")
    func configured() throws {
        let here = try address("192.0.2.1")
        var book = AddressBook(configured: [here])
        #expect(book.candidates(for: id(1)) == [here])
        book.note(id(2), at: here)
        #expect(book.candidates(for: id(1)).isEmpty)
        #expect(book.candidates(for: id(2)) == [here])
    }

    @Test("after trust is taken back another node may answer at the same address")
    func forgotten() throws {
        let here = try address("192.0.2.1")
        var book = AddressBook(configured: [here])
        book.note(id(2), at: here)
        book.forget(id(2))
        #expect(book.candidates(for: id(1)) == [here])
    }

    @Test("an address at which another node answered is not the first choice any more")
    func handedOn() throws {
        let (old, new) = (try address("192.0.2.1"), try address("192.0.2.2"))
        var book = AddressBook(configured: [])
        book.note(id(1), at: old)
        _ = book.add([new], shortID: id(1).short)
        #expect(book.candidates(for: id(1)) == [old, new])
        book.note(id(2), at: old)
        #expect(book.candidates(for: id(1)) == [new])
    }

    @Test("an address that is given is tried for everybody at once, and one that is taken back for nobody")
    func given() throws {
        let here = try address("[fe80::1%eth0]")
        var book = AddressBook(configured: [])
        book.configure(here)
        book.configure(here)
        #expect(book.configured == [here])
        #expect(book.candidates(for: id(1)).map(\.description) == ["[fe80::1%eth0]:4984"])
        book.note(id(2), at: here)
        #expect(book.owner(of: here) == id(2))
        book.unconfigure(here)
        #expect(book.candidates(for: id(1)).isEmpty)
        #expect(book.candidates(for: id(2)).isEmpty)
    }

    @Test("says whether an address is new, and forgets the oldest of many short IDs")
    func bounded() throws {
        var book = AddressBook(configured: [])
        let here = try address("192.0.2.1")
        let isNew = book.add([here], shortID: id(1).short)
        let isNewAgain = book.add([here], shortID: id(1).short)
        #expect(isNew && !isNewAgain)
        for number in 0..<NodeLimits.nearbyMax { _ = book.add([here], shortID: "S\(number)") }
        #expect(book.candidates(for: id(1)).isEmpty)
    }
}
