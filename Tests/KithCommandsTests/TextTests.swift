import KithDocuments
import Testing

@testable import KithCommands

@Suite("Text for people")
struct TextTests {
    @Test("numbers and sizes")
    func quantities() {
        #expect(Quantity.grouped(0) == "0")
        #expect(Quantity.grouped(999) == "999")
        #expect(Quantity.grouped(1_204) == "1,204")
        #expect(Quantity.grouped(-1_234_567) == "-1,234,567")
        #expect(Quantity.of(1, "document") == "1 document")
        #expect(Quantity.of(2_000, "document") == "2,000 documents")
        #expect(Quantity.bytes(1) == "1 byte")
        #expect(Quantity.bytes(1_023) == "1,023 bytes")
        #expect(Quantity.bytes(19_083_264) == "18.2 MB")
        #expect(Quantity.bytes(1_503_238_553) == "1.4 GB")
        #expect(Quantity.bytes(1 << 50) == "1.0 PB")
        #expect(Quantity.bytes((1 << 20) - 1) == "1.0 MB")
        #expect(Quantity.bytes(1_024) == "1.0 KB")
        #expect(Quantity.seconds(milliseconds: 840) == "0.8 s")
    }

    @Test("lengths of time")
    func durations() {
        #expect(DurationText.milliseconds("60") == 60_000)
        #expect(DurationText.milliseconds("500ms") == 500)
        #expect(DurationText.milliseconds("2m") == 120_000)
        #expect(DurationText.milliseconds("1h") == 3_600_000)
        for wrong in ["", "0", "s", "-1", "1.5s", "1x", "９", "99999999999"] {
            #expect(DurationText.milliseconds(wrong) == nil, "\(wrong)")
        }
    }

    @Test("instants of RFC 3339 are read, and nothing else")
    func instants() {
        #expect(Instant(parsing: "1970-01-01T00:00:00Z")?.seconds == 0)
        #expect(Instant(parsing: "2026-05-06T12:31:09Z")?.seconds == 1_778_070_669)
        #expect(Instant(parsing: "2026-05-06T12:31:09.123Z")?.seconds == 1_778_070_669)
        #expect(Instant(parsing: "2026-05-06T14:31:09+02:00")?.seconds == 1_778_070_669)
        #expect(Instant(parsing: "2000-02-29T00:00:00Z")?.seconds == 951_782_400)
        #expect(Instant(parsing: "1969-12-31T23:59:59Z")?.seconds == -1)
        for wrong in [
            "", "2026-05-06", "2026-05-06T12:31:09", "2026-13-06T12:31:09Z", "2026-05-06T24:31:09Z",
            "2026-05-06T12:31:09.Z", "2026-05-06T12:31:09+2", "x026-05-06T12:31:09Z",
        ] {
            #expect(Instant(parsing: wrong) == nil, "\(wrong)")
        }
    }

    @Test("times are told as people tell them")
    func moments() throws {
        // 6 May 2026, 14:31:09 in a zone two hours east.
        let now = try #require(Instant(parsing: "2026-05-06T12:31:09Z"))
        let moment = Moment(now: now, calendar: LocalTime.withOffset(7_200))
        func tell(_ text: String) -> String { Instant(parsing: text).map(moment.tell) ?? "?" }
        #expect(tell("2026-05-06T12:31:01Z") == "8 s ago")
        #expect(tell("2026-05-06T12:31:09Z") == "just now")
        #expect(tell("2026-05-06T13:31:09Z") == "just now")
        #expect(tell("2026-05-06T12:19:00Z") == "12 min ago")
        #expect(tell("2026-05-06T09:58:00Z") == "11:58")
        #expect(tell("2026-05-05T22:30:00Z") == "00:30")
        #expect(tell("2026-05-05T16:42:00Z") == "yesterday 18:42")
        #expect(tell("2026-05-04T22:00:00Z") == "yesterday 00:00")
        #expect(tell("2026-05-04T21:59:00Z") == "4 May 23:59")
        #expect(tell("2025-12-31T10:00:00Z") == "31 Dec 2025")
        func lasted(_ text: String) -> String { Instant(parsing: text).map(moment.lasted(since:)) ?? "?" }
        #expect(lasted("2026-05-06T12:31:00Z") == "9 s")
        #expect(lasted("2026-05-06T11:31:00Z") == "1 hour")
        #expect(lasted("2026-05-03T10:02:11Z") == "3 days")
        #expect(lasted("2027-05-03T10:02:11Z") == "0 s")
    }

    @Test("what comes from outside cannot act on the terminal")
    func safety() {
        #expect(DisplayText.safe("Zoë 小蘭 🩺") == "Zoë 小蘭 🩺")
        #expect(DisplayText.safe("a\u{1B}[2Jb\nc") == "a\\u{1b}[2Jb\\u{a}c")
        #expect(DisplayText.safe("\u{9B}31m") == "\\u{9b}31m")
        #expect(DisplayText.safe("a\u{202E}b") == "a\\u{202e}b")
        #expect(DocumentText.pretty(["a": "x\u{9B}y"]).contains("x\\u009by"))
    }

    @Test("widths count columns, not characters")
    func widths() {
        #expect(DisplayText.width("Zoë") == 3)
        #expect(DisplayText.width("e\u{301}") == 1)
        #expect(DisplayText.width("小蘭") == 4)
        #expect(DisplayText.cut("kitchen-pi", to: 8, unicode: true) == "kitchen…")
        #expect(DisplayText.cut("kitchen-pi", to: 8, unicode: false) == "kitch...")
        #expect(DisplayText.cut("小蘭小蘭", to: 5, unicode: true) == "小蘭…")
        #expect(DisplayText.wrapped("one two three", width: 7) == ["one two", "three"])
        #expect(DisplayText.wrapped("", width: 7) == [""])
    }

    @Test("a suggested command is one that a shell reads back")
    func quoting() {
        #expect(ShellQuoting.quote("laptop") == "laptop")
        #expect(ShellQuoting.quote("") == "''")
        #expect(ShellQuoting.quote("$(rm -rf ~)") == "'$(rm -rf ~)'")
        #expect(ShellQuoting.quote("it's") == "'it'\\''s'")
        #expect(ShellQuoting.quote("-x") == "'-x'")
        #expect(ShellQuoting.quote("a\nb") == "'a\\u{a}b'")
    }

    @Test("two documents differ where they differ")
    func differences() {
        let a: JSONValue = ["items": [1, 2], "patient": ["name": "Zoë", "bed": 1], "same": true]
        let b: JSONValue = ["items": [1], "patient": ["name": "Zoë", "bed": 2], "same": true, "new": nil]
        #expect(DocumentText.differences(a, b, pathsMax: 8) == ["items", "patient.bed", "new"])
        #expect(DocumentText.differences(a, b, pathsMax: 1) == ["items"])
        #expect(DocumentText.differences(a, a, pathsMax: 8) == [])
    }

    @Test("the character set comes from the locale")
    func locale() {
        func isUnicode(_ environment: [String: String]) -> Bool {
            TerminalStyle.detect(descriptor: -1, environment: environment).usesUnicode
        }
        #expect(isUnicode(["LANG": "de_DE.UTF-8"]))
        #expect(isUnicode(["LC_ALL": "C.utf8", "LANG": "C"]))
        #expect(!isUnicode(["LC_ALL": "C", "LANG": "de_DE.UTF-8"]))
        #expect(!isUnicode([:]))
    }
}
