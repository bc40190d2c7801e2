import Testing

@testable import KithDiscovery

@Suite("TXT records")
struct ServiceTextTests {
    static func read(_ strings: String...) -> ServiceText? { ServiceText(strings.map { Array($0.utf8) }) }

    @Test("version and short ID are read, in any order, and unknown keys are passed over")
    func good() {
        for text in [
            Self.read("v=1", "id=K7QX2M9F"), Self.read("id=k7qx2m9f", "v=1"),
            Self.read("x", "ID=K7QX-2M9F", "", "V=1", "v=2"),
            Self.read("v=1", "id=K7QX2M9F", "id=00000000", "caps=a=b"), Self.read("v=01", "id=K7QX2M9F"),
        ] {
            #expect(text?.version == 1)
            #expect(text?.shortID == "K7QX-2M9F")
        }
    }

    @Test("a node of an unknown version is reported with its version, with or without an ID")
    func unknownVersion() {
        #expect(Self.read("v=2", "id=K7QX2M9F")?.version == 2)
        #expect(Self.read("v=2", "id=K7QX2M9F")?.shortID == "K7QX-2M9F")
        #expect(Self.read("v=9999", "id=something else")?.shortID == "")
        #expect(Self.read("v=2")?.version == 2)
    }

    @Test("records that no Kith node wrote are not read")
    func bad() {
        for text in [
            Self.read(), Self.read("v=1"), Self.read("id=K7QX2M9F"), Self.read("v=", "id=K7QX2M9F"),
            Self.read("v", "id=K7QX2M9F"), Self.read("v=0", "id=K7QX2M9F"), Self.read("v=-1", "id=K7QX2M9F"),
            Self.read("v=1x", "id=K7QX2M9F"), Self.read("v=99999", "id=K7QX2M9F"),
            Self.read("v=x", "v=1", "id=K7QX2M9F"),
            Self.read("v=1", "id=K7QX2M9"), Self.read("v=1", "id=K7QX2M9FF"), Self.read("v=1", "id=K7QX2M9U"),
            Self.read("v=1", "id=K7QX2M9é"), Self.read("v=1", "id="), Self.read("v=1", "id=K7QX 2M9F"),
            Self.read("=1", "id=K7QX2M9F"),
        ] {
            #expect(text == nil)
        }
        let long = (0..<20).map { _ in [UInt8](repeating: 0x61, count: 200) }
        #expect(ServiceText(long + [Array("v=1".utf8), Array("id=K7QX2M9F".utf8)]) == nil)
        #expect(ServiceText([[0xFF, 0x3D, 0], [0], Array("v=1".utf8), Array("id=K7QX2M9F".utf8)]) != nil)
    }
}
