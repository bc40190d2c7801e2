import KithDocuments

/// The text of `peers.json`, format 1:
///
///     {"format": 1, "peers": [{"id": "K7QX-…", "name": "laptop", "trustedAt": "2026-…Z", "addresses": ["host:4984"]}]}
///
/// Format 2 can say in addition how databases are shared with a peer, each of the members where it is not the usual:
///
///     {…, "access": "read", "replication": "manual", "databases": {"notes": {"access": "none"}}}
///
/// Format 3 can say in addition how a peer was paired and when it was compared, its earlier IDs, and by whom it is revoked; and what
/// nodes have said of keys, with what a person has overruled of that:
///
///     {…, "pairedBy": "number", "verifiedAt": "2026-…Z", "formerIDs": ["…"],
///         "revocation": {"by": "ID", "name": "desk", "at": 1780000000, "reason": "lost"}}
///     {…, "statements": ["base64", …], "overruled": [{"by": "ID", "of": "ID", "at": 1780000000}]}
///
/// Format 4 can say in addition that a peer was let in by the site's authority (`"pairedBy": "site"`).
///
/// A format is written only where something of it is said, so that a version that does not know it reads the others.
///
/// The file decides who is let in, so reading is strict: anything that is not understood is an error that names it.
enum PeerBookFile {
    /// The newest format that is known.
    static let format = 4

    static func encode(_ contents: BookContents) -> [UInt8] {
        // In the order of IDs, so that a change of one peer changes one place of the file.
        let all = Array(contents.byID.values) + Array(contents.revoked.values)
        let peers = all.sorted { $0.id < $1.id }.map { peer -> JSONValue in
            var value: JSONValue = [
                "id": .string(peer.id.description), "name": .string(peer.name), "trustedAt": .string(peer.trustedAt),
                "addresses": .array(peer.addresses.map { .string($0) }),
            ]
            encodeTrust(peer, in: &value)
            encode(peer.sharing, in: &value)
            guard !peer.databases.isEmpty else { return value }
            // In the order of names, like everything here.
            let databases = peer.databases.sorted { $0.key < $1.key }
            var members = JSONObject()
            for (name, sharing) in databases {
                var one: JSONValue = .object([:])
                encode(sharing, in: &one)
                members[name.text] = one
            }
            value["databases"] = .object(members)
            return value
        }
        let isShared = all.contains { !$0.sharing.isEmpty || !$0.databases.isEmpty }
        let saysMore =
            !contents.statements.isEmpty || !contents.overruled.isEmpty
            || all.contains {
                $0.pairedBy != nil || $0.verifiedAt != nil || !$0.formerIDs.isEmpty || $0.revocation != nil
            }
        let isOfSite = all.contains { $0.pairedBy == .site }
        var value: JSONValue = [
            "format": JSONValue(isOfSite ? 4 : saysMore ? 3 : isShared ? 2 : 1), "peers": .array(peers),
        ]
        if !contents.statements.isEmpty {
            value["statements"] = .array(contents.statements.map { .string(Base64.encode($0.bytes)) })
        }
        if !contents.overruled.isEmpty {
            value["overruled"] = .array(
                contents.overruled.map {
                    [
                        "by": .string($0.by.description), "of": .string($0.of.description), "at": JSONValue($0.seconds),
                    ]
                })
        }
        return Array((value.prettyText() + "\n").utf8)
    }

    private static func encode(_ sharing: PeerSharing, in value: inout JSONValue) {
        if let access = sharing.access { value["access"] = .string(access.rawValue) }
        if let replication = sharing.replication { value["replication"] = .string(replication.rawValue) }
    }

    static func decode(_ bytes: [UInt8], path: String) throws(KithError) -> BookContents {
        let value: JSONValue
        do throws(KithError) {
            value = try JSONValue(parsing: bytes, bytesMax: TrustLimits.bookFileBytesMax)
        } catch {
            throw damaged(path, "is not JSON", cause: error)
        }
        guard let object = value.objectValue else { throw damaged(path, "is not a JSON object") }
        guard let found = object["format"]?.int64Value else { throw damaged(path, "has no format number") }
        guard found <= format else {
            throw KithError(
                .newerFormat, "\(path) has format \(found), this version knows up to \(format)",
                remedy: "Update Kith on this machine")
        }
        guard found >= 1 else { throw damaged(path, "has the unknown format \(found)") }
        try checkNames(object, ["format", "peers"] + (found >= 3 ? ["statements", "overruled"] : []), path)
        guard let list = object["peers"]?.arrayValue else { throw damaged(path, "has no list of peers") }
        guard list.count <= TrustLimits.peersMax else {
            throw damaged(path, "has more than \(TrustLimits.peersMax) peers")
        }
        var contents = BookContents()
        for (index, entry) in list.enumerated() {
            let peer: Peer
            do throws(KithError) {
                peer = try decodePeer(entry, path, format: Int(found))
            } catch {
                throw damaged(path, "has a peer that cannot be read (number \(index + 1))", cause: error)
            }
            guard contents.byID[peer.id] == nil, contents.revoked[peer.id] == nil else {
                throw damaged(path, "has \(peer.id.short) twice")
            }
            guard peer.revocation != nil || contents.idByName[peer.name] == nil else {
                throw damaged(path, "has the name '\(peer.name)' twice")
            }
            contents.set(peer)
        }
        try decodeStatements(object, path, into: &contents)
        return contents
    }

    private static func decodePeer(
        _ value: JSONValue, _ path: String, format: Int
    ) throws(KithError) -> Peer {
        guard let object = value.objectValue else { throw damaged(path, "has a peer that is not an object") }
        let sharing = ["access", "replication"]
        try checkNames(
            object,
            ["id", "name", "trustedAt", "addresses"] + (format >= 2 ? sharing + ["databases"] : [])
                + (format >= 3 ? trust : []), path)
        guard let idText = object["id"]?.stringValue, let name = object["name"]?.stringValue,
            let trustedAt = object["trustedAt"]?.stringValue, trustedAt.utf8.count <= 64
        else { throw damaged(path, "has a peer without id, name or trustedAt") }
        var addresses: [String] = []
        if object.names.contains("addresses"), let value = object["addresses"] {
            guard let list = value.arrayValue else { throw damaged(path, "has addresses that are not a list") }
            for entry in list {
                guard let text = entry.stringValue else { throw damaged(path, "has an address that is not a text") }
                addresses.append(text)
            }
        }
        try check(addresses: addresses)
        try NodeName.check(name)
        var databases: [DatabaseName: PeerSharing] = [:]
        if let value = object["databases"] {
            guard let members = value.objectValue, members.count <= TrustLimits.sharedDatabasesPerPeerMax else {
                throw damaged(path, "has databases that are no object, or more than are taken")
            }
            for (name, value) in members {
                guard let one = value.objectValue else { throw damaged(path, "has a database that is no object") }
                try checkNames(one, sharing, path)
                databases[try DatabaseName(name)] = try decodeSharing(one, path)
            }
        }
        var peer = Peer(
            id: try NodeID(parsing: idText), name: name, trustedAt: trustedAt, addresses: addresses,
            sharing: try decodeSharing(object, path), databases: databases)
        try decodeTrust(object, path, into: &peer)
        guard peer.pairedBy != .site || format >= 4 else {
            throw damaged(path, "has a pairedBy that its format does not know")
        }
        return peer
    }

    private static func decodeSharing(_ object: JSONObject, _ path: String) throws(KithError) -> PeerSharing {
        var sharing = PeerSharing()
        if let value = object["access"] {
            guard let access = value.stringValue.flatMap(PeerAccess.init) else {
                throw damaged(path, "has an access that is none of both, read, write, none")
            }
            sharing.access = access
        }
        if let value = object["replication"] {
            guard let replication = value.stringValue.flatMap(PeerReplication.init) else {
                throw damaged(path, "has a replication that is neither continuous nor manual")
            }
            sharing.replication = replication
        }
        return sharing
    }

    /// Checks the number and the look of addresses; whether they lead anywhere is for the dialler to see.
    static func check(addresses: [String]) throws(KithError) {
        guard addresses.count <= TrustLimits.addressesPerPeerMax else {
            throw KithError(
                .badConfiguration,
                "a peer has \(addresses.count) addresses, more than \(TrustLimits.addressesPerPeerMax)")
        }
        for address in addresses {
            guard (1...TrustLimits.addressBytesMax).contains(address.utf8.count),
                address.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else {
                throw KithError(
                    .badConfiguration, "an address is empty, too long, or has characters that no address has",
                    remedy: "Write it as HOST:PORT or [IPV6]:PORT")
            }
        }
    }

    static func checkNames(_ object: JSONObject, _ known: [String], _ path: String) throws(KithError) {
        for name in object.names where !known.contains(where: { Array($0.utf8) == Array(name.utf8) }) {
            throw damaged(path, "has the unknown field '\(name.prefix(40))'")
        }
    }

    static func damaged(_ path: String, _ what: String, cause: KithError? = nil) -> KithError {
        KithError(
            .damaged, "\(path) \(what)", remedy: "Repair it or restore it from a backup; nobody is let in meanwhile",
            cause: cause)
    }
}
