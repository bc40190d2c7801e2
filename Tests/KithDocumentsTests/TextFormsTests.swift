import Testing

@testable import KithDocuments

@Suite("Bytes and times as text")
struct TextFormsTests {
    @Test("hex digits are read as they are written, and in no other way")
    func hexadecimal() {
        let all = (0...255).map { UInt8($0) }
        #expect(Hexadecimal.bytes(Hexadecimal.text(all)) == all)
        #expect(Hexadecimal.text([0, 10, 255]) == "000aff")
        #expect(Hexadecimal.bytes("") == [])
        for text in ["0", "0g", "AB", " 00", "000", "ａａ"] { #expect(Hexadecimal.bytes(text) == nil, "\(text)") }
    }

    @Test("percent-encoding keeps the unreserved characters and no others, and reads two hex digits and nothing else")
    func percent() {
        let all = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init)))
        let text = PercentEncoding.text(all)
        #expect(PercentEncoding.bytes(text.utf8) == Array(all.utf8))
        #expect(PercentEncoding.text("aZ09-._~ :/\u{E4}") == "aZ09-._~%20%3A%2F%C3%A4")
        #expect(PercentEncoding.text("a:b c", keeping: UInt8(ascii: ":")) == "a:b%20c")
        #expect(PercentEncoding.bytes("%c3%A4+".utf8) == [0xC3, 0xA4, 0x2B])
        for wrong in ["%", "%1", "a%g0", "%+1", "%-1", "% 1"] {
            #expect(PercentEncoding.bytes(wrong.utf8) == nil, "\(wrong)")
        }
    }

    @Test("a time in UTC is read back as the same, on the days that calendars get wrong")
    func times() {
        #expect(DateText.utc(0) == "1970-01-01T00:00:00Z")
        #expect(DateText.utc(951_782_400) == "2000-02-29T00:00:00Z")
        #expect(DateText.utc(1_780_000_000) == "2026-05-28T20:26:40Z")
        #expect(DateText.utc(-1) == "1969-12-31T23:59:59Z")
        #expect(DateText.utc(4_107_542_400) == "2100-03-01T00:00:00Z")
        for seconds in stride(from: Int64(-62_167_219_200), through: 253_402_300_799, by: 86_399 * 370) {
            let text = DateText.utc(seconds)
            let read = Array(text.utf8).withUnsafeBytes { DateText.unixSeconds($0) }
            #expect(read == seconds, "\(text)")
        }
        #expect(DateText.utc(.max) == "9999-12-31T23:59:59Z")
        #expect(DateText.utc(.min) == "0000-01-01T00:00:00Z")
    }
}
