// How many statements the book keeps.

extension BookContents {
    /// Where one more statement goes.
    enum Room {
        case free
        /// In the place of this one.
        case replacing(Int)
        case full
    }

    /// The room for one more statement of a peer. One that concerns somebody here takes the place of the oldest that is about
    /// nobody here, if there is one.
    ///
    /// - Parameter subject: who is revoked by it; `nil` for a rotation.
    func room(for subject: NodeID?, by signer: Peer, _ ownIDs: [NodeID]) -> Room {
        let isConcerning = subject == nil || isKnown(subject, ownIDs)
        if subject != nil {
            let said = statements.indices.filter {
                statements[$0].revoked != nil && signer.has(statements[$0].signer)
            }
            if said.count >= TrustLimits.revocationsBySignerMax {
                let oldest = said.first { isDispensable(statements[$0], ownIDs) }
                return isConcerning ? oldest.map { .replacing($0) } ?? .full : .full
            }
        }
        guard statements.count >= TrustLimits.statementsMax else { return .free }
        let oldest = isConcerning ? statements.firstIndex { isDispensable($0, ownIDs) } : nil
        return oldest.map { .replacing($0) } ?? .full
    }

    /// Keeps a statement, if there is room.
    mutating func store(_ statement: TrustStatement, _ room: Room) {
        switch room {
        case .free: break
        case .replacing(let index): statements.remove(at: index)
        case .full: return
        }
        statements.append(statement)
    }

    /// Whether a statement of another node is about nobody here.
    func isDispensable(_ statement: TrustStatement, _ ownIDs: [NodeID]) -> Bool {
        statement.revoked != nil && !ownIDs.contains(statement.signer) && !isKnown(statement.revoked, ownIDs)
    }

    /// Whether this is or was the ID of this node or of somebody in the book.
    func isKnown(_ id: NodeID?, _ ownIDs: [NodeID]) -> Bool {
        guard let id else { return false }
        return byID[id] != nil || revoked[id] != nil || ownIDs.contains(id) || formerOwner(of: id) != nil
    }
}
