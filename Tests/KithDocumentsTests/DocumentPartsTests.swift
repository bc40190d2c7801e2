import KithDocuments
import Testing

@Suite("Reserved names of documents")
struct DocumentPartsTests {
    private func split(_ text: String) throws(KithError) -> DocumentParts { try CanonicalJSON.split(Array(text.utf8)) }

    @Test("what REST puts into the body is split off, the rest is canonical")
    func splitsOff() throws {
        let parts = try split(#"{"b":1,"_rev":"2-ab","a":{"_x":1},"_deleted":true,"_id":"d\u00e9","_attachments":{}}"#)
        #expect(parts.id == (try DocumentID("d\u{E9}")))
        #expect(parts.revision == (try RevisionID(parsing: "2-ab")))
        #expect(parts.isDeleted)
        #expect(parts.history == nil)
        #expect(String(decoding: parts.body, as: UTF8.self) == #"{"a":{"_x":1},"b":1}"#)
    }

    @Test("wherever reserved names stand, nothing else changes", arguments: 0..<200)
    func anyPlace(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var members = [#""b":1"#, #""a": [1.0]"#, #""Z":"x""#, #""_inner_is_below":0"#].shuffled(using: &random)
        members.removeAll { $0.hasPrefix("\"_inner") }
        members.removeLast(Int.random(in: 0...members.count, using: &random))
        let body = try CanonicalJSON.canonicalizeBody(Array("{\(members.joined(separator: ","))}".utf8))
        let reserved = [#""_id":"d""#, #" "_rev" : "1-a" "#, #""\u005fdeleted":false"#, #""_attachments":{ }"#]
        members += reserved.shuffled(using: &random).prefix(Int.random(in: 1...4, using: &random))
        members.shuffle(using: &random)
        #expect(try split("{ \(members.joined(separator: " , ")) }").body == body)
    }

    @Test("unknown reserved names are refused and named, nothing is dropped in silence")
    func unknown() {
        for name in [
            "_class", "_removed", "_purged", "_sequence", "_expires", "_", "__proto__", "_ID", "_conflict",
            "_revs_infos",
        ] {
            for text in [
                "{\"\(name)\":\"x\",\"v\":1}", "{\"v\":1,\"\(name)\":{}}", "{\"\\u005f\(name.dropFirst())\":1}",
            ] {
                #expect(message { try split(text) }.contains(name))
                #expect(message { try CanonicalJSON.canonicalizeBody(Array(text.utf8)) }.contains(name))
            }
        }
    }

    @Test("what CouchDB tells with a document is left out, whatever it says")
    func toldWithIt() throws {
        for name in ["_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq"] {
            for text in ["{\"\(name)\":[\"2-a\"],\"v\":1}", "{\"v\":1,\"\(name)\":{}}"] {
                #expect(try split(text).body == Array("{\"v\":1}".utf8))
            }
        }
    }

    @Test("in replication the known ones are refused too")
    func replication() {
        for name in ["_id", "_rev", "_deleted", "_attachments", "_revisions", "_exp", "_conflicts", "_local_seq"] {
            #expect(message { try CanonicalJSON.canonicalizeBody(Array("{\"\(name)\":{}}".utf8)) }.contains(name))
        }
        #expect((try? CanonicalJSON.canonicalizeBody(Array("{\"v\":{\"_class\":\"x\"}}".utf8))) != nil)
    }

    @Test("values of the wrong type are refused and named")
    func wrongTypes() {
        let texts = [
            #"{"_deleted":"true","v":1}"#, #"{"_deleted":null}"#, #"{"_rev":5,"v":1}"#, #"{"_rev":null}"#,
            #"{"_id":5}"#,
            #"{"_attachments":[],"v":1}"#,
        ]
        for text in texts {
            let name = String(text.dropFirst(2).prefix { $0 != "\"" })
            #expect(message { try split(text) }.contains(name))
        }
        expectRefusal(.badName) { try split(#"{"_id":""}"#) }
        expectRefusal(.badName) { try split(#"{"_id":"a\u0000b"}"#) }
        expectRefusal(.badName) { try split(#"{"_rev":"foo"}"#) }
        expectRefusal(.badDocument) { try split(#"{"_attachments":{"f.txt":{"data":"?"}}}"#) }
        expectRefusal(.badName) { try split(#"{"_attachments":{"_f.txt":{"data":"b25l"}}}"#) }
        expectRefusal(.badDocument) { try split(#"{"_id":"a","_id":"a"}"#) }
        expectRefusal(.badDocument) { try split(#"{"_id":"a","x":1,"\u005fid":"a"}"#) }
    }

    @Test("a document is an object")
    func object() {
        for text in ["[]", "1", "null", "\"x\"", "[{}]", ""] {
            expectRefusal(.badDocument) { try split(text) }
            expectRefusal(.badDocument) { try CanonicalJSON.canonicalizeBody(Array(text.utf8)) }
        }
    }

    @Test("_deleted false is a live document and leaves no trace")
    func notDeleted() throws {
        let parts = try split(#"{"_deleted":false,"v":1}"#)
        #expect(!parts.isDeleted)
        #expect(String(decoding: parts.body, as: UTF8.self) == #"{"v":1}"#)
    }

    @Test("attachments are split off, and an object without any is not the same as none")
    func attachments() throws {
        let parts = try split(#"{"v":1,"_attachments":{"f.txt":{"data":"b25l","content_type":"text/plain"}}}"#)
        #expect(parts.attachments?.map(\.name) == ["f.txt"])
        #expect(parts.attachments?.first?.content == .inline(Array("one".utf8)))
        #expect(String(decoding: parts.body, as: UTF8.self) == #"{"v":1}"#)
        #expect(try split(#"{"_attachments":{}}"#).attachments == [])
    }

    @Test("odd names survive unchanged")
    func oddNames() throws {
        let text = """
            {"":"empty key","$type":"dollar","a":{"":{"":1},"_inner":"below the top","b":"nested"},"a.b":"dotted",\
            "constructor":"text","line\u{2028}sep":2,"toString":5,"with space":1,"x[0]":"bracketed"}
            """
        #expect(try CanonicalJSON.canonicalizeBody(Array(text.utf8)) == Array(text.utf8))
        #expect(try split(text).body == Array(text.utf8))
    }

    @Test("_revisions gives the history, and must fit _rev")
    func revisions() throws {
        let parts = try split(#"{"_id":"h","_rev":"3-c","_revisions":{"start":3,"ids":["c","a"]}}"#)
        #expect(parts.history == [try RevisionID(parsing: "2-a")])
        #expect(
            try split(#"{"_rev":"6-d","_revisions":{"start":6,"ids":["d","d","e"]}}"#).history?.map(\.description) == [
                "5-d", "4-e",
            ])
        let refused = [
            #"{"_revisions":{"start":1,"ids":["a"]}}"#,
            #"{"_rev":"2-b","_revisions":{"start":3,"ids":["b","a"]}}"#,
            #"{"_rev":"2-b","_revisions":{"start":2,"ids":["a","b"]}}"#,
            #"{"_rev":"1-b","_revisions":{"start":1,"ids":["b","a","z"]}}"#,
            #"{"_rev":"1-b","_revisions":{"start":1,"ids":[]}}"#,
            #"{"_rev":"1-b","_revisions":{"start":"1","ids":["b"]}}"#,
            #"{"_rev":"2-b","_revisions":{"start":2,"ids":["b",7]}}"#,
            #"{"_rev":"2-b","_revisions":[]}"#,
        ]
        for text in refused { expectRefusal(.badDocument) { try split(text) } }
        expectRefusal(.badName) { try split(#"{"_rev":"2-b","_revisions":{"start":2,"ids":["b","a,b"]}}"#) }
    }

    @Test("a request with many documents falls into parts, whatever is wrong inside them")
    func outline() throws {
        let text = #" { "new_edits" : false, "docs" : [ {"v":1e400} , {"s":"\ud800]"},[], 01, "x" ] , "\u0061":{} } "#
        let bytes = Array(text.utf8)
        try bytes.withUnsafeBytes { buffer in
            func text(_ range: Range<Int>) -> String { String(decoding: buffer[range], as: UTF8.self) }
            let members = try JSONOutline.members(of: buffer)
            #expect(members.map(\.name) == ["new_edits", "docs", "a"])
            #expect(text(members[0].range) == "false")
            let elements = try JSONOutline.elements(of: buffer, in: members[1].range)
            #expect(elements.map(text) == [#"{"v":1e400}"#, #"{"s":"\ud800]"}"#, "[]", "01", "\"x\""])
            expectRefusal(.badDocument) { try JSONOutline.elements(of: buffer, in: members[0].range) }
            for end in 0..<(bytes.count - 1) {
                let cut = UnsafeRawBufferPointer(rebasing: buffer[..<end])
                expectRefusal(.badDocument) { try JSONOutline.members(of: cut) }
            }
        }
    }

    private func message(_ body: () throws -> some Any) -> String {
        do {
            _ = try body()
            return ""
        } catch {
            return (error as? KithError).map { $0.code == .badDocument ? $0.message : "" } ?? ""
        }
    }
}
