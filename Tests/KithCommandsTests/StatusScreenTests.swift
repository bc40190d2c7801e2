import Glibc
import KithDocuments
import Testing

@testable import KithCommands

@Suite("Status screens")
struct StatusScreenTests {
    /// 6 May 2026, 14:31:09 in a zone two hours east.
    static let moment = Moment(now: Instant(seconds: 1_778_070_669), calendar: LocalTime.withOffset(7_200))

    private static let plain = TerminalStyle()
    private static let terminal = TerminalStyle(isTerminal: true, usesColour: true, usesUnicode: true, columns: 120)

    private func screen(_ scenario: StatusScenario, _ style: TerminalStyle, verbose: Bool = false) throws -> String {
        var selection = StatusSelection.everything
        selection.isVerbose = verbose
        let screen = StatusScreen(
            report: try scenario.report, moment: Self.moment, style: style, selection: selection)
        return screen.lines.map { $0 + "\n" }.joined()
    }

    /// Compares with a file of the folder Golden, which KITH_UPDATE_GOLDEN=1 writes anew.
    private func expectGolden(_ text: String, _ name: String) {
        let path = String(#filePath.dropLast("StatusScreenTests.swift".utf8.count)) + "Golden/" + name
        if getenv("KITH_UPDATE_GOLDEN") != nil {
            let file = fopen(path, "w")
            fputs(text, file)
            fclose(file)
        }
        #expect(text == TemporaryFolder.read(path), "Golden/\(name)")
    }

    @Test("each screen is as its golden file, plain in 80 columns", arguments: StatusScenario.all)
    func plain(_ scenario: StatusScenario) throws {
        let text = try screen(scenario, Self.plain)
        expectGolden(text, scenario.name + ".txt")
        for line in text.split(separator: "\n") where !line.contains("kith trust K7QX") {
            #expect(DisplayText.width(String(line)) <= 80, "\(line)")
        }
        #expect(!text.contains("\u{1B}"))
    }

    @Test("each screen is as its golden file, on a terminal of 120 columns", arguments: StatusScenario.all)
    func terminal(_ scenario: StatusScenario) throws {
        expectGolden(try screen(scenario, Self.terminal), scenario.name + ".terminal.txt")
    }

    @Test("the verbose screen has whole IDs, addresses and databases")
    func verbose() throws {
        expectGolden(try screen(.offline, Self.plain, verbose: true), "offline.verbose.txt")
    }

    @Test("without Unicode everything is ASCII, but for names")
    func ascii() throws {
        for scenario in StatusScenario.all where scenario.name != "hostile-names" {
            #expect(try screen(scenario, Self.plain).utf8.allSatisfy { $0 < 0x80 }, "\(scenario.name)")
        }
    }

    @Test("the first line answers whether all is right")
    func sentences() throws {
        func sentence(_ scenario: StatusScenario) throws -> String {
            StatusScreen(report: try scenario.report, moment: Self.moment, style: Self.plain).sentence
        }
        #expect(try sentence(.alone) == "running 3 days   192.168.1.20:4984")
        #expect(try sentence(.inSync) == "in sync with 2 peers")
        #expect(try sentence(.syncing) == "syncing with 2 peers")
        #expect(try sentence(.offline) == "in sync with 1 of 2 peers")
        #expect(try sentence(.allOffline) == "none of its 2 peers is connected")
        #expect(try sentence(.conflicts) == "in sync with 1 peer; 2 documents in conflict")
        #expect(try sentence(.nearbyNodes) == "in sync with 1 peer; 1 device is waiting for you")
    }

    @Test("problems alone: nothing where there is none")
    func problems() throws {
        func lines(_ scenario: StatusScenario) throws -> [String] {
            StatusScreen(report: try scenario.report, moment: Self.moment, style: Self.plain).problemLines
        }
        #expect(try lines(.inSync) == [])
        #expect(try lines(.offline) == [])
        #expect(try lines(.conflicts).first == "  CONFLICT              VERSIONS")
        #expect(try lines(.stopped).first?.hasPrefix("x disk_full") == true)
        #expect(try lines(.blocked).contains { $0.contains("does not trust this node yet") })
    }

    @Test("--check tells health by its exit code")
    func check() throws {
        #expect(try !StatusScenario.inSync.report.needsAttention)
        #expect(try !StatusScenario.offline.report.needsAttention)
        #expect(try StatusScenario.conflicts.report.needsAttention)
        #expect(try StatusScenario.blocked.report.needsAttention)
        #expect(try StatusScenario.stopped.report.isStopped)
        #expect(try !StatusScenario.conflicts.report.isStopped)
    }

    @Test("a peer is found by its name and by its ID in any spelling")
    func subjects() throws {
        let report = try StatusScenario.inSync.report
        for text in ["laptop", "M4VT-90XC", "m4vt90xc", "M4VT-90XC-0000-0000"] {
            #expect(report.peer(named: text)?.name == "laptop", "\(text)")
        }
        #expect(report.peer(named: "") == nil)
        #expect(report.peer(named: "M4VT") == nil)
        let view = try StatusView(try ArgumentParser(spec: StatusCommand.spec).parse(["photos"]))
        #expect(try view.lines(report, Self.moment, Self.plain).first == "* photos   312 documents, 1.4 GB")
        let peerView = try StatusView(try ArgumentParser(spec: StatusCommand.spec).parse(["desk-mac"]))
        expectGolden(
            try peerView.lines(try StatusScenario.offline.report, Self.moment, Self.plain).map { $0 + "\n" }.joined(),
            "peer.txt")
        let nobody = try StatusView(try ArgumentParser(spec: StatusCommand.spec).parse(["nobody"]))
        #expect(throws: KithError.self) { try nobody.lines(report, Self.moment, Self.plain) }
    }

    @Test("pairings that nobody follows are listed, with why they ended")
    func pairings() throws {
        func report(_ members: String) throws -> PairingReport {
            try PairingReport(
                JSONValue(
                    parsing:
                        "{\"pairing\":1,\"address\":\"192.168.1.51:4984\",\"short\":\"P3WE-8HJ2\",\"asked_at\":\"2026-05-06T12:30:20Z\",\(members)}"
                ))
        }
        let reports = [
            try report(#""role":"initiator","state":"waiting""#),
            try report(#""role":"initiator","state":"comparing","name":"tab\u001blet""#),
            try report(
                #""role":"responder","state":"failed","name":"tablet","reason":"expired","ended_at":"2026-05-06T12:31:00Z""#
            ),
            // Not these: it asks, is paired, or ended long ago.
            try report(#""role":"responder","state":"waiting","name":"tablet""#),
            try report(#""role":"responder","state":"paired","name":"tablet","ended_at":"2026-05-06T12:31:00Z""#),
            try report(#""role":"initiator","state":"failed","reason":"expired","ended_at":"2026-05-06T12:20:00Z""#),
        ]
        let list = PairingList(reports: reports, moment: Self.moment, style: TerminalStyle(columns: 120))
        expectGolden(list.lines.map { $0 + "\n" }.joined(), "pairings.txt")
        #expect(PairingList(reports: [], moment: Self.moment, style: Self.plain).lines.isEmpty)
    }

    @Test("a peer is shown whole, revoked or not, and what is to be compared with it")
    func trustCards() throws {
        let own = "K7QX-2M9F-0000-0000"
        let common =
            #""id":"M4VT-90XC-0000-0000","short":"M4VT-90XC","name":"laptop","trustedAt":"2026-05-03T10:02:11Z""#
        let trusted = try JSONValue(
            parsing: """
                {\(common),"pairedBy":"number","verifiedAt":null,"connected":true,"revocation":null,"access":"read",
                 "addresses":["192.168.1.34:4984","192.168.1.35:4984"],"formerIDs":["T1ZB-66QE-0000-0000"],
                 "databases":{"photos":{"access":"none","replication":null}}}
                """)
        let revoked = try JSONValue(
            parsing: """
                {\(common),"verifiedAt":"2026-05-04T10:00:00Z","connected":false,"lastSeenAt":"2026-05-06T12:00:00Z",
                 "revocation":{"by":"desk\\u001b[2J","at":"2026-05-06T12:20:00Z","reason":"lost","here":false}}
                """)
        let compared = try JSONValue(
            parsing: """
                {\(common),"ownID":"\(own)","ownName":"kitchen-pi","verifiedAt":null,
                 "words":["acorn","amber","anchor","apple","arrow","autumn","badge","bamboo","basket","beach","bishop","blanket"],
                 "shown":{"id":"P3WE-8HJ2-0000-0000","address":"192.168.1.51:4984"}}
                """)
        let cards = [trusted, revoked].map { PeerCard(peer: $0, moment: Self.moment, style: Self.plain).lines }
        let lines = cards + [VerificationCard(value: compared, moment: Self.moment, style: Self.plain).lines]
        expectGolden(lines.map { $0.map { $0 + "\n" }.joined() }.joined(separator: "\n"), "peers.txt")
    }

    @Test("the page of a database says what was refused, by whom and why")
    func refusedPage() throws {
        let view = try StatusView(try ArgumentParser(spec: StatusCommand.spec).parse(["notes"]))
        expectGolden(
            try view.lines(StatusScenario.refused.report, Self.moment, Self.plain).map { $0 + "\n" }.joined(),
            "refused.database.txt")
    }

    @Test("an explanation says of every peer whether it has the document, and why not")
    func explanation() throws {
        let refusal =
            #"{"id":"a","rev":"2-ab","direction":"sent","by":"peer","code":413,"reason":"too\u001b[2J large","at":"2026-05-06T12:20:00Z","attempts":3}"#
        func peer(_ name: String, _ rest: String) -> String { #"{"name":"\#(name)","id":"X",\#(rest)}"# }
        let none = #""before":null,"sent":null,"received":null"#
        let peers = [
            peer("laptop", #""state":"there","connected":true,"# + none),
            peer("desk-mac", #""state":"waiting","connected":false,"before":1236,"sent":null,"received":null"#),
            peer("pi", #""state":"waiting","connected":true,"before":0,"sent":null,"received":null"#),
            peer("tablet", #""state":"refused","connected":true,"before":null,"sent":\#(refusal),"received":null"#),
            peer("小蘭", #""state":"there","connected":true,"before":null,"sent":null,"received":\#(refusal)"#),
            peer("phone", #""state":"notShared","connected":true,"# + none),
            peer("old", #""state":"unknown","connected":false,"# + none),
        ]
        func page(_ text: String) throws -> String {
            let page = try ExplanationPage(
                address: DocumentAddress(database: "notes", document: "list:1"), answer: JSONValue(parsing: text),
                moment: Self.moment, style: Self.plain)
            return page.lines.map { $0 + "\n" }.joined()
        }
        let known = #""rev":"2-ab","deleted":false,"sequence":41,"versions":2"#
        let unknown = #""rev":null,"deleted":false,"sequence":null,"versions":0"#
        expectGolden(try page(#"{\#(known),"peers":[\#(peers.joined(separator: ","))]}"#), "explanation.txt")
        #expect(try page(#"{\#(unknown),"peers":[\#(peers[4])]}"#).hasPrefix("notes/list:1   is not here\n"))
        #expect(try page(#"{\#(known),"peers":[]}"#).contains("no peer yet"))
    }

    @Test("a status of another version, and what is none, are refused")
    func versions() {
        for text in ["{}", "[]", "{\"schemaVersion\":2,\"node\":{}}", "{\"schemaVersion\":1,\"node\":[]}"] {
            #expect(throws: KithError.self) { try StatusReport(try JSONValue(parsing: text)) }
        }
    }

    @Test("missing, unknown and wrongly typed fields are unknown, never zero of something")
    func tolerance() throws {
        let text = """
            {"schemaVersion":1,"node":{"name":7},"peers":[{"state":"dancing","toSend":"many"},5],"databases":{},"new":1}
            """
        let report = try StatusReport(try JSONValue(parsing: text))
        #expect(report.peers.count == 2)
        #expect(report.peers[0].state == .unknown)
        #expect(report.peers[0].toSend == nil)
        #expect(report.databases == [])
        let lines = StatusScreen(report: report, moment: Self.moment, style: Self.plain).lines
        #expect(lines.contains { $0.contains("unknown") })
    }

    @Test("redaction takes out IDs and addresses and leaves the rest")
    func redaction() throws {
        let text = StatusRedaction.redact(try StatusScenario.conflicts.value).canonicalText()
        #expect(!text.contains("shopping-list"))
        #expect(!text.contains("192.168"))
        #expect(text.contains("document-1"))
        #expect(text.contains("kitchen-pi"))
        #expect(
            StatusRedaction.withoutQuoted("the document \"a b\" of “notes” is \"bad")
                == "the document \"…\" of “…” is \"…")
    }

    @Test("rates are measured between two reports, and tell how long is left")
    func rates() throws {
        var rates = StatusRates()
        var report = try StatusScenario.syncing.report
        rates.note(report, atMilliseconds: 0)
        #expect(rates.secondsLeft(report) == nil)
        report.peers[0].databases[0].completed += 250
        report.peers[1].databases[0].completed += 50
        rates.note(report, atMilliseconds: 1_000)
        #expect(rates.rate(of: report.peers[0]) == 250)
        #expect(rates.secondsLeft(report) == 5)
        let screen = StatusScreen(report: report, moment: Self.moment, style: Self.plain, rates: rates)
        #expect(screen.sentence == "syncing with 2 peers, about 5 s left")
        #expect(screen.lines.contains { $0.contains("250 docs/s") })
    }

    @Test("a piped watch says what changed, one line each")
    func events() throws {
        var events = StatusEvents()
        func lines(_ scenario: StatusScenario, at milliseconds: Int) throws -> [String] {
            events.lines(for: try scenario.report, moment: Self.moment, milliseconds: milliseconds)
        }
        #expect(try lines(.alone, at: 0) == ["14:31:09  kitchen-pi   running     K7QX-2M9F"])
        #expect(
            try lines(.syncing, at: 1_000) == [
                "14:31:09  laptop       trusted     M4VT-90XC",
                "14:31:09  laptop       connected   192.168.1.34:4984  TLS 1.3",
                "14:31:09  laptop       syncing     to receive 1,498",
                "14:31:09  desk-mac     trusted     T1ZB-66QE",
                "14:31:09  desk-mac     connected   192.168.1.34:4984  TLS 1.3",
                "14:31:09  desk-mac     syncing     to send 76",
            ])
        #expect(try lines(.syncing, at: 2_000) == [])
        #expect(
            try lines(.inSync, at: 8_100) == [
                "14:31:09  laptop       in sync     2,310 documents in 7.1 s",
                "14:31:09  desk-mac     in sync     120 documents in 7.1 s",
            ])
        #expect(try lines(.offline, at: 9_000) == ["14:31:09  desk-mac     offline     37 documents to send"])
        #expect(
            try lines(.conflicts, at: 9_000) == [
                "14:31:09  desk-mac     untrusted   T1ZB-66QE",
                "14:31:09  notes        conflict    shopping-list (2 versions)",
                "14:31:09  notes        conflict    plan 2027 (3 versions)",
            ])
    }

    @Test("a redrawn screen goes up as many rows as it drew, and never scrolls")
    func redraw() {
        var screen = RedrawnScreen()
        let style = TerminalStyle(isTerminal: true, columns: 10, rows: 5)
        #expect(screen.frame(["a", "b"], style) == "a\u{1B}[K\nb\u{1B}[K\n\u{1B}[J")
        #expect(screen.frame(["\u{1B}[1mabc\u{1B}[0m"], style).hasPrefix("\u{1B}[2A\r"))
        // A line of 11 columns takes two rows; what does not fit is left out.
        #expect(screen.frame(["12345678901", "b", "c", "d", "e"], style).contains("c\u{1B}[K\n\u{1B}[J"))
        #expect(screen.frame([], style).hasPrefix("\u{1B}[4A\r"))
    }
}
