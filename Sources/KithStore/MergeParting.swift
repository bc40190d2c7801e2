/// Where a version of a document parted from those before it.
struct MergeParting: Sendable, Equatable {
    let base: MergeBase
    let origins: MergeOrigins
    /// Whether the version has edits that those before it do not have.
    let bringsEdits: Bool

    /// Bytes of the bodies that it holds.
    var byteCount: Int { base.byteCount + origins.byteCount }
}
