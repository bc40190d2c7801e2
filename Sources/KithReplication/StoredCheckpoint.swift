import KithDocuments

/// A peer's checkpoint as this node keeps it: opaque text and a revision that grows by one.
///
/// The revision is told as `N-cc`, as other implementations of the protocol do.
struct StoredCheckpoint {
    var revision: UInt64
    var body: [UInt8]

    init(revision: UInt64, body: [UInt8]) {
        self.revision = revision
        self.body = body
    }

    /// Reads what `encoded()` wrote: the revision in decimal, a line feed, the text.
    init?(decoding bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let revision = UInt64(String(decoding: bytes[..<end], as: UTF8.self))
        else { return nil }
        self.init(revision: revision, body: Array(bytes[(end + 1)...]))
    }

    func encoded() -> [UInt8] { Array("\(revision)\n".utf8) + body }

    static func text(revision: UInt64) -> String { "\(revision)-cc" }

    /// The number in `N-cc`; 0 for an empty text, `nil` for anything else.
    static func revision(parsing text: String) -> UInt64? {
        if text.isEmpty { return 0 }
        guard text.utf8.count <= 24, text.hasSuffix("-cc") else { return nil }
        return UInt64(text.dropLast(3))
    }
}
