import Testing

@testable import KithWire

@Suite("BLIP: properties and varints")
struct BLIPPropertiesTests {
    @Test("names are compared by bytes: composed and decomposed characters differ, and so does case")
    func byteComparison() {
        var properties: BLIPProperties = ["caf\u{E9}": "composed"]
        #expect(properties["cafe\u{301}"] == nil)
        #expect(properties["Caf\u{E9}"] == nil)
        properties["cafe\u{301}"] = "decomposed"
        #expect(properties["caf\u{E9}"] == "composed")
        #expect(properties.pairs.count == 2)
    }

    @Test("setting replaces, nil removes, empty values stay")
    func setting() {
        var properties: BLIPProperties = ["a": "1", "b": "2", "c": "3"]
        properties["b"] = ""
        #expect(properties["b"] == "")
        #expect(properties.contains("b"))
        properties["a"] = nil
        #expect(!properties.contains("a"))
        #expect(properties == ["c": "3", "b": ""])
        #expect(properties != ["c": "3", "b": "x"])
        properties["b"] = nil
        properties["c"] = nil
        #expect(properties.isEmpty && properties.byteCount == 0)
    }

    @Test("a NUL in a value cannot begin another property")
    func injection() {
        let properties: BLIPProperties = ["id": "doc\u{0}deleted\u{0}true"]
        #expect(properties["id"] == "doc\u{FFFD}deleted\u{FFFD}true")
        #expect(properties.pairs.count == 1)
        #expect(BLIPProperties(block: properties.block) == properties)
    }

    @Test("truth values are read in every form that peers write")
    func truthValues() {
        for text in ["true", "TRUE", "yes", "YES", "1", "-3", "42"] {
            #expect(BLIPProperties([("x", text)]).bool("x"), "\(text)")
        }
        for text in ["false", "No", "0", "-0", "", "maybe", "1.5", "tru", "truee"] {
            #expect(!BLIPProperties([("x", text)]).bool("x"), "\(text)")
        }
        #expect(BLIPProperties().bool("x", default: true))
        #expect(BLIPProperties([("x", "maybe")]).bool("x", default: true))
        #expect(!BLIPProperties([("x", "false")]).bool("x", default: true))
    }

    @Test("integers are whole decimal texts within 64 bits")
    func integers() {
        func read(_ text: String) -> Int? { BLIPProperties([("x", text)]).int("x") }
        #expect(read("0") == 0)
        #expect(read("200") == 200)
        #expect(read("-17") == -17)
        #expect(read("9223372036854775807") == .max)
        #expect(read("-9223372036854775808") == .min)
        for text in [
            "", "-", "+1", " 1", "1 ", "0x10", "1e3", "9223372036854775808", "-9223372036854775809", "\u{661}",
        ] {
            #expect(read(text) == nil, "\(text)")
        }
    }

    @Test("an error response is taken apart, also when it says nothing")
    func errorInfo() {
        var message = BLIPMessage(
            number: 1, kind: .error, properties: ["Error-Domain": "HTTP", "Error-Code": "409"],
            body: Array("conflict".utf8))
        #expect(message.error == BLIPMessage.ErrorInfo(domain: "HTTP", code: 409, message: "conflict"))
        message.properties = ["Error-Code": "99999999999"]
        message.body = []
        #expect(message.error == BLIPMessage.ErrorInfo(domain: "BLIP", code: 0, message: ""))
        message.kind = .response
        #expect(message.error == nil)
    }

    @Test("varints of every length come back, and what exceeds 64 bits does not")
    func varints() {
        var values: [UInt64] = [0, 1, 127, 128, 300, 50021, .max]
        for shift in UInt64(0)..<64 { values += [1 << shift, (1 << shift) - 1, (1 << shift) + 1] }
        for value in values {
            var out: [UInt8] = []
            Varint.append(value, to: &out)
            #expect(out.count == Varint.byteCount(value))
            out.withUnsafeBytes { bytes in
                var offset = 0
                #expect(Varint.read(bytes, at: &offset) == value)
                #expect(offset == bytes.count)
                for cut in 0..<bytes.count {
                    var offset = 0
                    #expect(Varint.read(UnsafeRawBufferPointer(rebasing: bytes[..<cut]), at: &offset) == nil)
                    #expect(offset == 0)
                }
            }
        }
        for tooLong in ["FF FF FF FF FF FF FF FF FF 02", "80 80 80 80 80 80 80 80 80 80 00"] {
            hex(tooLong).withUnsafeBytes { bytes in
                var offset = 0
                #expect(Varint.read(bytes, at: &offset) == nil)
            }
        }
        // Longer than needed is legal in LEB128.
        hex("80 00").withUnsafeBytes { bytes in
            var offset = 0
            #expect(Varint.read(bytes, at: &offset) == 0)
        }
    }
}
