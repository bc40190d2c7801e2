/// Says in sentences what does not travel with a peer, and why.
enum SharingNotes {
    /// Databases named in one sentence; the others are counted.
    private static let namesMax = 3

    /// One sentence for each kind of limit, each with the databases that it is about.
    static func of(_ peer: StatusReport.Peer) -> [String] {
        let name = DisplayText.safe(peer.name)
        if peer.state == .notShared { return ["Nothing is shared with \(name): see kith peers"] }
        var sentences: [String] = []
        func tell(_ isSo: (StatusReport.SharedDatabase) -> Bool, _ sentence: (String) -> String) {
            let databases = peer.databases.filter(isSo).map { DisplayText.safe($0.name) }
            guard !databases.isEmpty else { return }
            let more = databases.count - namesMax
            let names = databases.prefix(namesMax).joined(separator: ", ")
            sentences.append(sentence(more > 0 ? "\(names) and \(Quantity.grouped(more)) more" : names))
        }
        tell {
            $0.access == "read"
        } _: {
            "\(name) may only read \($0) (read-only)."
        }
        tell {
            $0.access == "write"
        } _: {
            "\(name) may only write to \($0) (write-only)."
        }
        tell {
            ["both", "read"].contains($0.access) && !$0.sends
        } _: {
            "\(name) takes no changes of \($0) from here."
        }
        tell {
            ["both", "write"].contains($0.access) && !$0.receives
        } _: {
            "\(name) gives no changes of \($0)."
        }
        tell {
            $0.state == .onDemand
        } _: {
            "\($0) is replicated with \(name) on demand: kith sync"
        }
        return sentences
    }
}
