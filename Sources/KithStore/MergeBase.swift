import KithDocuments

/// From where a version of a document parted from those that are merged with it.
enum MergeBase: Sendable, Equatable {
    /// From this: a revision, or what several come to together.
    case content(MergeContent)
    /// From several, of which not all that it takes is kept here; this is one of them.
    case inPart(MergeContent)
    /// Nowhere: each began as a document of its own.
    case none
    /// From a revision whose body is not kept here.
    case withoutBody(RevisionID)
    /// The histories that are known here do not say.
    case unknown

    /// What the version parted from, all of it or in part, where that is known and not nothing.
    var content: MergeContent? {
        switch self {
        case .content(let content), .inPart(let content): content
        case .none, .withoutBody, .unknown: nil
        }
    }

    /// Whether all is known that a merge takes.
    var isWhole: Bool {
        switch self {
        case .content, .none: true
        case .inPart, .withoutBody, .unknown: false
        }
    }

    /// Bytes of the body that it holds.
    var byteCount: Int { content?.body.count ?? 0 }
}
