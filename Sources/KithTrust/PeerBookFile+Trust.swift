import KithDocuments

// What format 3 says in addition.

extension PeerBookFile {
    /// The members of a peer.
    static let trust = ["pairedBy", "verifiedAt", "formerIDs", "revocation"]

    static func encodeTrust(_ peer: Peer, in value: inout JSONValue) {
        if let method = peer.pairedBy { value["pairedBy"] = .string(method.rawValue) }
        if let verifiedAt = peer.verifiedAt { value["verifiedAt"] = .string(verifiedAt) }
        if !peer.formerIDs.isEmpty { value["formerIDs"] = .array(peer.formerIDs.map { .string($0.description) }) }
        if let revocation = peer.revocation {
            var said: JSONValue = [
                "by": .string(revocation.by.description), "at": JSONValue(revocation.seconds),
                "reason": .string(revocation.reason),
            ]
            if let name = revocation.byName { said["name"] = .string(name) }
            value["revocation"] = said
        }
    }

    static func decodeTrust(_ object: JSONObject, _ path: String, into peer: inout Peer) throws(KithError) {
        if let value = object["pairedBy"] {
            guard let method = value.stringValue.flatMap(PairingMethod.init) else {
                throw damaged(path, "has a pairedBy that is none of number, invitation, id, site")
            }
            peer.pairedBy = method
        }
        if let value = object["verifiedAt"] {
            guard let text = value.stringValue, text.utf8.count <= 64 else {
                throw damaged(path, "has a verifiedAt that is no date")
            }
            peer.verifiedAt = text
        }
        if let value = object["formerIDs"] {
            guard let list = value.arrayValue, list.count <= TrustLimits.formerKeysMax else {
                throw damaged(path, "has formerIDs that are no list, or too many")
            }
            for entry in list { peer.formerIDs.append(try id(entry, path)) }
        }
        guard let value = object["revocation"] else { return }
        guard let said = value.objectValue else { throw damaged(path, "has a revocation that is no object") }
        try checkNames(said, ["by", "at", "reason", "name"], path)
        guard let seconds = said["at"]?.int64Value, let reason = said["reason"]?.stringValue,
            StatementOutline.isFit(reason: reason)
        else { throw damaged(path, "has a revocation without its time or reason") }
        var name: String?
        if let value = said["name"] {
            guard let text = value.stringValue else { throw damaged(path, "has a revocation by a name that is none") }
            name = text
        }
        peer.revocation = PeerRevocation(
            by: try id(said["by"], path), byName: name, seconds: seconds, reason: reason)
    }

    static func decodeStatements(
        _ object: JSONObject, _ path: String, into contents: inout BookContents
    ) throws(KithError) {
        // More than are taken now, since a later version may take more.
        let countMax = 4 * TrustLimits.statementsMax
        if let value = object["statements"] {
            guard let list = value.arrayValue, list.count <= countMax else {
                throw damaged(path, "has statements that are no list, or too many")
            }
            for entry in list {
                guard let bytes = entry.stringValue.flatMap({ Base64.decode($0) }),
                    let statement = try? TrustStatement(verifying: bytes)
                else { throw damaged(path, "has a statement that cannot be read, or has a wrong signature") }
                contents.statements.append(statement)
            }
        }
        if let value = object["overruled"] {
            guard let list = value.arrayValue, list.count <= countMax else {
                throw damaged(path, "has an overruled that is no list, or too long")
            }
            for entry in list {
                guard let one = entry.objectValue, let seconds = one["at"]?.int64Value else {
                    throw damaged(path, "has an entry of overruled that cannot be read")
                }
                try checkNames(one, ["by", "of", "at"], path)
                contents.overruled.append(
                    RevocationOverrule(by: try id(one["by"], path), of: try id(one["of"], path), seconds: seconds))
            }
        }
    }

    private static func id(_ value: JSONValue?, _ path: String) throws(KithError) -> NodeID {
        guard let text = value?.stringValue else { throw damaged(path, "has an ID that is no text") }
        return try NodeID(parsing: text)
    }
}
