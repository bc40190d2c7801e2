import KithDocuments

/// What happens to documents on their way, for one reader; see `Node.documentEvents`.
///
/// It may be read by one task at a time. It ends when the node stops, and when its task is cancelled.
public struct DocumentEvents: AsyncSequence, Sendable {
    /// One step of the sequence.
    public enum Element: Sendable {
        /// Something happened to a document.
        case event(DocumentEvent)
        /// So many events before the next one were dropped, since they were not read in time.
        case lost(Int)
    }

    let buffer: EventBuffer<DocumentEvent>

    /// Reads the events.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        let buffer: EventBuffer<DocumentEvent>

        /// The next event.
        public mutating func next() async -> Element? {
            switch await buffer.next() {
            case .event(let event): .event(event)
            case .lost(let count): .lost(count)
            case nil: nil
            }
        }
    }

    /// Begins to read.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(buffer: buffer) }
}
