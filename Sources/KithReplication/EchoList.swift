import KithDocuments

/// Revisions that came from a peer, in the order of the sequences under which they were stored here.
struct EchoList {
    struct Echo {
        let revision: RevisionID
        let sequence: UInt64
        /// The sequence that its document had before; 0: it was not there.
        let previous: UInt64
    }

    private var echoes: [Echo] = []
    private var head = 0

    /// The one with the lowest sequence.
    var first: Echo? { head < echoes.count ? echoes[head] : nil }

    /// Notes one, unless it comes before what is noted already.
    ///
    /// - Returns: by how many the list has grown.
    mutating func append(_ echo: Echo) -> Int {
        guard echo.sequence > echoes.last?.sequence ?? 0 else { return 0 }
        echoes.append(echo)
        return 1
    }

    /// Forgets those with lower sequences.
    ///
    /// - Returns: how many these were.
    mutating func forget(before sequence: UInt64) -> Int {
        let old = head
        while head < echoes.count, echoes[head].sequence < sequence { head += 1 }
        let count = head - old
        if head == echoes.count || head > 1_024 {
            echoes.removeFirst(head)
            head = 0
        }
        return count
    }
}
