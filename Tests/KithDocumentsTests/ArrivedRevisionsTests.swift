import KithDocuments
import Testing

/// Documents with their histories as other systems send them, put into a tree by what `CanonicalJSON.split` makes of them.
@Suite("Revisions as they arrive over REST")
struct ArrivedRevisionsTests {
    /// Puts documents with `_rev`, `_revisions` and `_deleted` into a tree.
    private func tree(_ documents: [String]) throws -> RevisionTree {
        var tree = RevisionTree()
        for document in documents { try insert(document, into: &tree) }
        return tree
    }

    @discardableResult
    private func insert(_ document: String, into tree: inout RevisionTree) throws -> RevisionTree.Insertion {
        let parts = try CanonicalJSON.split(Array(document.utf8))
        let revision = try #require(parts.revision)
        return try tree.insert(revision, history: parts.history ?? [], isDeleted: parts.isDeleted)
    }

    /// A digest of 32 digits, as CouchDB makes them, that are all this one.
    private static func digest(_ digit: Character) -> String { String(repeating: digit, count: 32) }

    private static func document(
        _ generation: Int, _ digests: [String], isDeleted: Bool = false
    ) -> String {
        let ids = digests.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"_id\":\"w\",\"_rev\":\"\(generation)-\(digests[0])\",\"_revisions\":{\"start\":\(generation),"
            + "\"ids\":[\(ids)]}\(isDeleted ? ",\"_deleted\":true" : "")}"
    }

    private static func branch(_ first: String, _ rest: String, isDeleted: Bool = false) -> String {
        document(rest.count + 1, [first] + rest.map { digest($0) }, isDeleted: isDeleted)
    }

    /// Branches of one document, and their leaves in the order that every node must see.
    static let cases: [(documents: [String], leaves: [String])] = [
        // Two roots: the longer one, although its digest is lower.
        ([branch(digest("1"), "23"), branch(digest("f"), "e")], ["3-" + digest("1"), "2-" + digest("f")]),
        // Generation 10 is above 9.
        (
            [branch(digest("9"), "87654321"), branch(digest("0"), "abcdefabc")],
            ["10-" + digest("0"), "9-" + digest("9")]
        ),
        // A tombstone loses, however long its branch is.
        (
            [branch(digest("d"), "cba7", isDeleted: true), branch(digest("5"), "7")],
            ["2-" + digest("5"), "(5-" + digest("d") + ")"]
        ),
        // Only tombstones: by the last digit of the digest.
        (
            [
                branch(digest("a").dropLast() + "f", "bc7", isDeleted: true),
                branch(digest("a").dropLast() + "e", "8c7", isDeleted: true),
            ], ["(4-" + digest("a").dropLast() + "f)", "(4-" + digest("a").dropLast() + "e)"]
        ),
        // Three at once.
        (
            [branch(digest("b"), "7"), branch(digest("c"), "7"), branch(digest("a"), "7")],
            ["2-" + digest("c"), "2-" + digest("b"), "2-" + digest("a")]
        ),
    ]

    @Test("the winner does not depend on the order", arguments: cases.indices)
    func order(index: Int) throws {
        let (documents, leaves) = Self.cases[index]
        var orders = [documents, documents.reversed()]
        if documents.count == 3 { orders.append([documents[1], documents[2], documents[0]]) }
        for order in orders {
            let tree = try tree(order + order)
            #expect(tree.leafTexts == leaves)
            #expect(tree.winner == tree.leaves.first)
        }
    }

    @Test("a conflict is deleted branch by branch, and the document made again", arguments: [false, true])
    func deletingAndMakingAgain(isReversed: Bool) throws {
        let winner = Self.branch(Self.digest("b"), "21")
        let loser = Self.branch(Self.digest("a"), "31")
        let stages = [
            (
                Self.branch(Self.digest("d"), "b21", isDeleted: true),
                ["3-" + Self.digest("a"), "(4-" + Self.digest("d") + ")"]
            ),
            (
                Self.branch(Self.digest("e"), "a31", isDeleted: true),
                ["(4-" + Self.digest("e") + ")", "(4-" + Self.digest("d") + ")"]
            ),
            (Self.branch(Self.digest("f"), "ea31"), ["5-" + Self.digest("f"), "(4-" + Self.digest("d") + ")"]),
            (
                Self.branch(Self.digest("0"), "fea31", isDeleted: true),
                ["(6-" + Self.digest("0") + ")", "(4-" + Self.digest("d") + ")"]
            ),
        ]
        var near = try tree(isReversed ? [loser, winner] : [winner, loser])
        #expect(near.leafTexts == ["3-" + Self.digest("b"), "3-" + Self.digest("a")])
        // Another node gets each stage with all before it in the opposite order.
        for (count, (document, leaves)) in stages.enumerated() {
            try insert(document, into: &near)
            #expect(near.leafTexts == leaves)
            let far = try tree(stages[...count].map(\.0).reversed() + [loser, winner])
            #expect(far.leafTexts == leaves)
            // Saving on the revision from before the deletion brings nothing back by itself: it is no leaf.
            #expect(!near.isLeaf(revision("3-" + Self.digest("b"))) && near.contains(revision("3-" + Self.digest("b"))))
        }
    }

    @Test("strange histories are kept as they are told, and told once more they change nothing")
    func strange() throws {
        let documents = [
            #"{"_id":"h","_rev":"1-a"}"#, #"{"_id":"h","_rev":"2-c"}"#,
            #"{"_id":"h","_rev":"3-c","_revisions":{"start":3,"ids":["c","a"]}}"#,
        ]
        var tree = try tree(documents)
        #expect(tree.leafTexts == ["3-c", "2-c", "1-a"])
        #expect(tree.historyTexts("3-c") == ["2-a"] && tree.parent(of: revision("2-a")) == nil)
        let before = tree
        #expect(try insert(documents[2], into: &tree) == .alreadyPresent)
        #expect(tree == before && tree.encoded() == before.encoded())
        // What is sent on makes the same leaves and the same chain, in whatever order.
        var next = RevisionTree()
        for leaf in tree.leaves { try next.insert(leaf.revision, history: tree.history(of: leaf.revision)) }
        #expect(next.leafTexts == tree.leafTexts && next.historyTexts("3-c") == ["2-a"])

        let jump = try self.tree([#"{"_id":"h","_rev":"6-d","_revisions":{"start":6,"ids":["d","d","e"]}}"#])
        #expect(jump.leafTexts == ["6-d"] && jump.historyTexts("6-d") == ["5-d", "4-e"])
    }

    @Test(
        "a revision that is none is refused before anything is stored",
        arguments: ["1-", "0-a", "-1-a", "18446744073709551616-a", "foo", "", "1", "1-é"])
    func noRevision(text: String) {
        expectRefusal(.badName) { try CanonicalJSON.split(Array(#"{"_id":"h","_rev":"\#(text)"}"#.utf8)) }
    }

    @Test("a revision's digest depends on all of the content and on nothing else")
    func contentOnly() throws {
        func input(_ text: String) throws -> [UInt8] {
            let parts = try CanonicalJSON.split(Array(text.utf8))
            // Bytes that stand for their own digest: what matters is that other bytes have another one.
            let attachments = try (parts.attachments ?? []).map { attachment in
                guard case .inline(let bytes) = attachment.content else { throw KithError(.internal, "no data") }
                let digest = try AttachmentDigest(bytes: bytes + [UInt8](repeating: 0, count: 20 - bytes.count))
                return try attachment.resolved(digest: digest, length: UInt64(bytes.count), revpos: 1)
            }
            return RevisionDigest.input(
                parent: nil, deleted: parts.isDeleted, canonicalBody: parts.body,
                attachments: try AttachmentList(attachments))
        }
        func withAttachment(_ name: String, _ type: String, _ data: String) -> String {
            #"{"alpha":1,"_attachments":{"\#(name)":{"content_type":"\#(type)","data":"\#(data)"}}}"#
        }
        let different = [
            #"{"alpha":1}"#, #"{"beta":1}"#, #"{"alpha":"1"}"#, #"{"alpha":true}"#, #"{"alpha":[1]}"#,
            #"{"alpha":{"":1}}"#, #"{"alpha":1,"_deleted":true}"#, withAttachment("f.txt", "text/plain", "b25l"),
            withAttachment("f.txt", "text/plain", "dHdv"), withAttachment("g.txt", "text/plain", "b25l"),
            withAttachment("f.txt", "text/html", "b25l"),
        ]
        #expect(Set(try different.map(input)).count == different.count)
        let same = [
            #"{"x":1,"y":2}"#, #"{ "y":2, "x":1 }"#, #"{"\u0078":1.0,"y":2e0}"#,
            #"{"_id":"d","x":1,"_rev":"1-a","y":2}"#,
            #"{"_deleted":false,"x":1,"y":2,"_attachments":{}}"#,
        ]
        #expect(Set(try same.map(input)).count == 1)
    }
}
