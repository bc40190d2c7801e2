import KithDocuments
import Testing

@Suite("When documents expire")
struct ExpiryTests {
    private func expiry(_ text: String) throws -> Expiry? {
        try CanonicalJSON.split(Array("{\"_exp\":\(text),\"v\":1}".utf8)).expiry
    }

    @Test("numbers: below 30 days from now on, else since 1970; null takes it back")
    func numbers() throws {
        #expect(try expiry("1") == .after(seconds: 1))
        #expect(try expiry("2591999") == .after(seconds: 2_591_999))
        #expect(try expiry("2592000") == .at(unixSeconds: 2_592_000))
        #expect(try expiry("4294967295") == .at(unixSeconds: 4_294_967_295))
        #expect(try expiry("6e1") == .after(seconds: 60))
        #expect(try expiry("null") == .never)
        let parts = try CanonicalJSON.split(Array(#"{"v":1}"#.utf8))
        #expect(parts.expiry == nil && parts.attachments == nil)
    }

    @Test("dates with their seconds, which another program computed")
    func dates() throws {
        let dates: [(String, UInt64)] = [
            ("1970-01-01T00:00:01Z", 1), ("1970-01-31T00:00:00Z", 2_592_000), ("1972-02-29T12:34:56Z", 68_214_896),
            ("2000-02-29T00:00:00Z", 951_782_400), ("2000-03-01T00:00:00Z", 951_868_800),
            ("2025-12-31T23:59:59Z", 1_767_225_599), ("2026-01-01T00:00:00Z", 1_767_225_600),
            ("2100-02-28T23:59:59Z", 4_107_542_399), ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("2106-02-07T06:28:15Z", 4_294_967_295), ("2026-11-30T10:00:00+01:00", 1_796_029_200),
            ("2026-11-30T10:00:00-00:30", 1_796_034_600), ("2026-11-30T10:00:00.999999999Z", 1_796_032_800),
            ("1969-12-31T23:59:59-23:59", 86_339),
        ]
        for (text, seconds) in dates { #expect(try expiry("\"\(text)\"") == .at(unixSeconds: seconds), "\(text)") }
    }

    @Test(
        "what is no time is refused and named",
        arguments: [
            "0", "-1", "1.5", "4294967296", "1e300", "true", "{}", "[]", "\"\"", "\"60\"", "\"1970-01-01T00:00:00Z\"",
            "\"1969-12-31T23:59:59Z\"", "\"0000-01-01T00:00:00Z\"", "\"2106-02-07T06:28:16Z\"",
            "\"2026-02-29T00:00:00Z\"",
            "\"2100-02-29T00:00:00Z\"", "\"2026-04-31T00:00:00Z\"", "\"2026-13-01T00:00:00Z\"",
            "\"2026-00-01T00:00:00Z\"",
            "\"2026-01-00T00:00:00Z\"", "\"2026-01-01T24:00:00Z\"", "\"2026-01-01T00:60:00Z\"",
            "\"2026-01-01T00:00:60Z\"",
            "\"2026-01-01T00:00:00\"", "\"2026-01-01T00:00:00ZZ\"", "\"2026-01-01T00:00:00.Z\"",
            "\"2026-01-01T00:00:00.5\"",
            "\"2026-01-01T00:00:00+1:00\"", "\"2026-01-01T00:00:00+0100\"", "\"2026-01-01T00:00:00+01:60\"",
            "\"2026-01-01T00:00:00+24:00\"", "\"2026-01-01T00:00:00+01:00Z\"", "\"2026-01-01 00:00:00Z\"",
            "\"2026-01-01t00:00:00Z\"", "\"2026-1-01T00:00:00Z\"", "\"+026-01-01T00:00:00Z\"", "\"2026-01-01\"",
            "\"2026/01-01T00:00:00Z\"",
        ])
    func refused(text: String) {
        #expect { try expiry(text) } throws: {
            ErrorCode.badDocument ~= $0 && ($0 as? KithError)?.message.contains("_exp") == true
        }
    }
}
