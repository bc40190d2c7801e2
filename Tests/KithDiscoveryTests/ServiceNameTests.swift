import Testing

@testable import KithDiscovery

@Suite("Names of services")
struct ServiceNameTests {
    @Test(
        "a name is cut to 63 bytes on a border between characters",
        arguments: [
            ("kitchen-pi", 10), (String(repeating: "a", count: 63), 63), (String(repeating: "a", count: 64), 63),
            (String(repeating: "é", count: 40), 62), (String(repeating: "台", count: 30), 63),
            (String(repeating: "👩‍🔧", count: 10), 55), ("x" + String(repeating: "e\u{301}", count: 30), 61),
        ])
    func cut(name: String, bytes: Int) {
        let cut = ServiceName.cut(name, bytesMax: 63)
        #expect(cut.utf8.count == bytes)
        #expect(name.hasPrefix(cut))
        #expect(cut.count == 0 || Array(name.prefix(cut.count)) == Array(cut))
    }

    @Test("a single character larger than the room is cut between its scalars")
    func hugeCharacter() {
        let name = "e" + String(repeating: "\u{301}", count: 100)
        #expect(ServiceName.cut(name, bytesMax: 63).utf8.count == 63)
    }

    @Test(
        "a taken name gets a number, then the node's own ID, and always fits",
        arguments: [
            "laptop", String(repeating: "a", count: 63), String(repeating: "台", count: 21),
            String(repeating: "👩‍🔧", count: 5),
            String(repeating: "é", count: 64),
        ])
    func alternatives(base: String) {
        var name = ServiceName.cut(base, bytesMax: 63)
        var seen: Set<String> = [name]
        for attempt in 1...5 {
            name = ServiceName.alternative(to: name, base: base, attempt: attempt, shortID: "K7QX-2M9F")
            #expect(seen.insert(name).inserted)
            #expect(name.utf8.count <= 63)
            #expect(name.hasPrefix(base.prefix(2)))
            switch attempt {
            case 1...2: #expect(name.hasSuffix("#\(attempt + 1)"))
            case 3: #expect(name.hasSuffix(" K7QX-2M9F"))
            default: #expect(name.hasSuffix(" K7QX-2M9F #\(attempt)"))
            }
        }
    }

    @Test(
        "names that could change what a terminal shows are not taken",
        arguments: [
            "", "a\u{1B}[2J", "a\nb", "a\u{202E}b", "a\u{2066}b", "a\u{0}", "a\u{2029}",
            String(repeating: "a", count: 64),
        ])
    func unpresentable(name: String) {
        #expect(!ServiceName.isPresentable(name))
    }

    @Test(
        "ordinary names in any script are taken", arguments: ["a", "Anna's laptop", "台所", "مطبخ", "👩‍🔧", "#1 (2).local"])
    func presentable(name: String) {
        #expect(ServiceName.isPresentable(name))
    }
}
