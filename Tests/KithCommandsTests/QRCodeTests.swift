import KithDocuments
import Testing

@testable import KithCommands

@Suite("QR codes")
struct QRCodeTests {
    private static let text =
        "kith:join/1?code=7-harbor-desert-bridge&id=K7QX-2M9F&at=192.168.1.20:4984&name=kitchen-pi"
    private static let plain = TerminalStyle(usesUnicode: true)
    private static let paint = ("\u{1B}[38;5;16;48;5;231m", "\u{1B}[0m")

    private static func reader(_ rows: [String], _ style: TerminalStyle) -> QRReader? {
        guard style.usesColour else { return QRReader(rows: rows, isInverted: true) }
        guard rows.allSatisfy({ $0.hasPrefix(paint.0) && $0.hasSuffix(paint.1) }) else { return nil }
        return QRReader(
            rows: rows.map { String($0.dropFirst(paint.0.count).dropLast(paint.1.count)) }, isInverted: false)
    }

    @Test(
        "what is printed is read again, dark on light whatever the terminal has, and without colours as on a dark one")
    func readAgain() throws {
        // Of each version, and all masks that come by themselves.
        let texts = [Self.text, "kith:", "7-harbor-desert-bridge"] + (1...25).map { String(Self.text.prefix($0 * 4)) }
        for text in texts {
            for usesColour in [true, false] {
                let style = TerminalStyle(isTerminal: true, usesColour: usesColour, usesUnicode: true)
                let code = try QRCode(text)
                let rows = code.rows(style)
                let reader = try #require(Self.reader(rows, style), "\(text)")
                #expect(reader.hasFinders)
                #expect(reader.text == text)
                #expect(code.columns(style) == code.size + 8)
            }
        }
        let wide = try QRCode(Self.text).rows(TerminalStyle())
        #expect(wide.count == 45 && wide.allSatisfy { $0.count == 90 && $0.hasPrefix("########") })
        #expect(throws: KithError.self) { _ = try QRCode(String(repeating: "x", count: 3_000)) }
    }

    @Test("an invitation shows the picture above the code, and says where it does not fit")
    func invitation() async throws {
        let line =
            #"{"invitation":1,"version":1,"state":"open","terms":{},"expires_at":"2026-05-06T12:45:00Z","tries_left":3,"code":"7-harbor-desert-bridge","uri":"\#(Self.text)"}"#
        let used =
            #"{"invitation":1,"version":2,"state":"used","terms":{},"expires_at":"2026-05-06T12:45:00Z","tries_left":3,"name":"tablet","address":"192.168.1.51:4984","peer":"tablet","short":"P3WE-8HJ2"}"#
        let node = FakeNode { _ in .bytes("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n\(line)\n\(used)\n")
        }
        defer { node.stop() }
        let run = await ProgramRun("pair", "invite", "--qr", home: node.home, style: Self.plain)
        #expect(run.code == 0, "\(run.error)")
        let rows = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(QRReader(rows: Array(rows.prefix(23)), isInverted: true)?.text == Self.text)
        #expect(rows.dropFirst(23).joined(separator: "\n").contains("kith pair join 7-harbor-desert-bridge"))
        let narrow = TerminalStyle(isTerminal: true, usesUnicode: true, columns: 44)
        let small = await ProgramRun("pair", "invite", "--qr", home: node.home, style: narrow)
        #expect(small.error.contains("45 columns") && !small.output.contains("█"))
    }
}
