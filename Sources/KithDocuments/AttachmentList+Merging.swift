extension AttachmentList {
    /// Merges the attachments of two branches, each as a whole, by the rules of `ThreeWayMerge`: changed on one side only,
    /// that side's; changed on one side and removed on the other, the change; changed differently on both, the winner's.
    ///
    /// What makes an attachment another one is what makes another revision: its bytes, its content type, its encoding.
    ///
    /// - Parameters:
    ///   - base: those of the nearest common ancestor; empty when the branches have none.
    ///   - winner: those of the leaf that comes first in the order of the winner rule.
    ///   - loser: the other's.
    /// - Throws: `bad_document` and `too_large` when both together are more than a document may have.
    public static func merge(
        base: AttachmentList, winner: AttachmentList, loser: AttachmentList
    ) throws(KithError) -> AttachmentList {
        if loser.isEmpty && base.isEmpty { return winner }
        var merged: [DocumentAttachment] = []
        for attachment in winner {
            let (old, other) = (base[attachment.name], loser[attachment.name])
            if let old, old.hasSameContent(as: attachment) {
                // The winner left it as it was: what the loser did counts.
                if let other { merged.append(other.hasSameContent(as: attachment) ? attachment : other) }
            } else {
                merged.append(attachment)
            }
        }
        for attachment in loser where winner[attachment.name] == nil {
            // The winner lacks it: removed there, unless it is new or changed here.
            if let old = base[attachment.name], old.hasSameContent(as: attachment) { continue }
            merged.append(attachment)
        }
        return try AttachmentList(merged)
    }

    /// Whether both make the same revision of one body: the same names with the same bytes, types and encodings.
    public func hasSameContent(as other: AttachmentList) -> Bool {
        count == other.count
            && zip(self, other).allSatisfy { ByteText.equal($0.name, $1.name) && $0.hasSameContent(as: $1) }
    }
}

extension DocumentAttachment {
    fileprivate func hasSameContent(as other: DocumentAttachment) -> Bool {
        digest == other.digest && contentType == other.contentType && encoding == other.encoding
    }
}
