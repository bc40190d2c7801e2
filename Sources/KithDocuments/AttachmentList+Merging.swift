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
    ///   - winnerOrigins: those of what else the winner comes from that both branches have (`ThreeWayMerge.Origins`).
    ///   - loserOrigins: the same for the loser.
    /// - Returns: the merged ones; whether both sides have changed the same, so that the origins counted.
    /// - Throws: `bad_document` and `too_large` when both together are more than a document may have.
    public static func merge(
        base: AttachmentList, winner: AttachmentList, loser: AttachmentList, winnerOrigins: [AttachmentList] = [],
        loserOrigins: [AttachmentList] = []
    ) throws(KithError) -> (attachments: AttachmentList, hasClash: Bool) {
        if loser.isEmpty && base.isEmpty { return (winner, false) }
        var merged: [DocumentAttachment] = []
        var hasClash = false
        func has(_ list: AttachmentList, _ attachment: DocumentAttachment) -> Bool {
            list[attachment.name]?.hasSameContent(as: attachment) ?? false
        }
        /// Whether one that only one side has stays: the other removed it, unless it is new or changed.
        func stays(_ attachment: DocumentAttachment, _ origins: [AttachmentList], others: [AttachmentList]) -> Bool {
            guard base[attachment.name] != nil else { return true }
            if has(base, attachment) { return false }
            hasClash = true
            return !origins.contains { has($0, attachment) } || others.contains { $0[attachment.name] == nil }
        }
        for attachment in winner {
            guard let other = loser[attachment.name] else {
                if stays(attachment, winnerOrigins, others: loserOrigins) { merged.append(attachment) }
                continue
            }
            if other.hasSameContent(as: attachment) || has(base, other) {
                merged.append(attachment)
            } else if has(base, attachment) {
                merged.append(other)
            } else {
                hasClash = true
                let isEdit =
                    !loserOrigins.contains { has($0, other) } && winnerOrigins.contains { has($0, attachment) }
                merged.append(isEdit ? other : attachment)
            }
        }
        for attachment in loser where winner[attachment.name] == nil {
            if stays(attachment, loserOrigins, others: winnerOrigins) { merged.append(attachment) }
        }
        return (try AttachmentList(merged), hasClash)
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
