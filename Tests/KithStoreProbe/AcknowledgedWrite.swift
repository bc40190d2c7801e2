import KithDocuments

/// A revision that was answered with success, and the sequence that it was told: one line of the probe's output.
struct AcknowledgedWrite: Sendable, Equatable {
    let id: DocumentID
    let revision: RevisionID
    let sequence: UInt64

    init(id: DocumentID, revision: RevisionID, sequence: UInt64) {
        self.id = id
        self.revision = revision
        self.sequence = sequence
    }

    /// Reads a line; nil when it is none.
    init?(line: String) {
        let words = line.split(separator: " ")
        guard words.count == 3, let id = try? DocumentID(String(words[0])),
            let revision = try? RevisionID(parsing: String(words[1])), let sequence = UInt64(words[2])
        else { return nil }
        self.init(id: id, revision: revision, sequence: sequence)
    }

    var line: String { "\(id.text) \(revision) \(sequence)" }
}
