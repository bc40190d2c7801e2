import Glibc
import KithDocuments
import Synchronization

/// The book of peers: which public keys this node trusts, and what people call them.
///
/// ```swift
/// let book = try PeerBook(path: home + "/peers.json")
/// try book.add(id, name: "laptop")
/// if book.peer(withPublicKeyHash: certificate.publicKeyHash) != nil { … }
/// ```
///
/// All members may be called from any thread. Looking up is one dictionary access and never waits for the disk; a change
/// is on disk before it is visible here and before the call returns. A book that cannot be read is an error, never an
/// empty book. One object per file: two would overwrite each other's changes.
public final class PeerBook: Sendable {
    private let path: String
    /// The IDs that this node has and had.
    let ownIDs: [NodeID]
    let contents: Mutex<BookContents>
    /// Held while the file is written, so that changes take turns; `contents` is locked only for moments.
    private let writer = Mutex<Void>(())

    /// Opens the book; a file that is not there is an empty book, and the first change makes it.
    ///
    /// - Parameter ownIDs: this node's ID and those that it had before; what is said of them revokes no peer.
    /// - Throws: `damaged` when the file is not a book, `newerFormat`, `badConfiguration` when others than the owner may
    ///   write to it, `inputOutput`.
    public init(path: String, ownIDs: [NodeID] = []) throws(KithError) {
        self.path = path
        self.ownIDs = ownIDs
        let read = try PrivateFiles.read(
            path, bytesMax: TrustLimits.bookFileBytesMax, forbiddenMode: 0o022, remedyMode: "600"
        ) { bytes throws(KithError) in try PeerBookFile.decode([UInt8](bytes), path: path) }
        contents = Mutex(read ?? BookContents())
    }

    /// All peers that are trusted, ordered by the bytes of their names.
    public var peers: [Peer] {
        contents.withLock { Array($0.byID.values) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// How many peers are trusted.
    public var count: Int { contents.withLock { $0.byID.count } }

    /// The peer whose certificate has this key, or `nil`: such a node is not trusted.
    ///
    /// - Parameter hash: SHA-256 of the SubjectPublicKeyInfo, 32 bytes; with any other length the answer is `nil`.
    public func peer(withPublicKeyHash hash: [UInt8]) -> Peer? {
        guard hash.count == NodeID.hashByteCount else { return nil }
        return peer(NodeID(subjectPublicKeyHash: hash))
    }

    /// The peer with this ID, or `nil`.
    public func peer(_ id: NodeID) -> Peer? { contents.withLock { $0.byID[id] } }

    /// The peer with this name, or `nil`.
    public func peer(named name: String) -> Peer? {
        contents.withLock { contents in contents.idByName[name].flatMap { contents.byID[$0] } }
    }

    /// The peer that a person means: by name, else by node ID, else by the short form of an ID.
    ///
    /// - Parameter isRevoked: look also among those that are revoked, after those that are trusted.
    /// - Throws: `notFound`; `badName` when it fits several peers; `badNodeID` for a mistyped full ID.
    public func find(_ text: String, isRevoked: Bool = false) throws(KithError) -> Peer {
        if let peer = peer(named: text) { return peer }
        let all = contents.withLock { Array($0.byID.values) + (isRevoked ? Array($0.revoked.values) : []) }
        let named = all.filter { $0.name == text }
        if named.count == 1 { return named[0] }
        let characters = text.utf8.filter { CheckedBase32.value(of: $0) != nil }
        var found = named
        // Text as long as an ID and made of its characters is meant as one: then its typing mistakes are worth telling.
        if named.isEmpty, characters.count >= CheckedBase32.characters - 4 {
            let id = try NodeID(parsing: text)
            found = all.filter { $0.id == id }
        } else if named.isEmpty, characters.count == 8 {
            let wanted = characters.map { CheckedBase32.alphabet[Int(CheckedBase32.value(of: $0)!)] }
            found = all.filter { Array($0.id.compactShort.utf8) == wanted }
        }
        if found.count == 1 { return found[0] }
        guard found.isEmpty else {
            throw KithError(
                .badName, "\(found.count) peers have this name, or an ID that begins so", remedy: "Give the whole ID")
        }
        throw KithError(.notFound, "there is no such peer", remedy: "See who is trusted with kith status")
    }

    /// Trusts a node from now on, or changes the name and addresses of one that is trusted already (its `trustedAt`
    /// stays). A person has decided it, so it also overrules all that has revoked the node. The change is durable when the call returns.
    ///
    /// - Parameters:
    ///   - id: the node.
    ///   - name: see `NodeName`; no other peer may have it.
    ///   - addresses: `HOST:PORT` each; `nil` leaves those that are known.
    ///   - trustedAt: ISO 8601 in UTC; `nil` is now.
    ///   - terms: how databases are shared with it from now on; `nil` leaves what is said, which for a new one is nothing.
    ///   - method: how it was paired; `nil` leaves what is known.
    /// - Returns: the peer as it is in the book.
    /// - Throws: `badName`, `nameTaken`, `conflict` for a key that a peer or this node has replaced, `tooLarge` when the book is
    ///   full, `badConfiguration` for bad addresses, `homeNotWritable`, `diskFull`, `inputOutput`. Then nothing has changed.
    @discardableResult
    public func add(
        _ id: NodeID, name: String, addresses: [String]? = nil, trustedAt: String? = nil,
        terms: InvitationTerms? = nil, method: PairingMethod? = nil
    ) throws(KithError) -> Peer {
        try NodeName.check(name)
        if let addresses { try PeerBookFile.check(addresses: addresses) }
        return try change { contents throws(KithError) in
            try Self.check(name, isFreeFor: id, in: contents)
            let old = contents.byID[id]
            guard old != nil || contents.byID.count + contents.revoked.count < TrustLimits.peersMax else {
                throw KithError(
                    .tooLarge, "the book has \(TrustLimits.peersMax) peers, which is the most it takes",
                    remedy: "Unpair nodes that are gone")
            }
            var peer =
                old ?? contents.revoked[id]
                ?? Peer(id: id, name: name, trustedAt: trustedAt ?? Self.nowText(), pairedBy: method)
            if old == nil {
                try contents.checkKey(id, ownIDs)
                if contents.revoked[id] == nil {
                    contents.welcome(peer, ownIDs)
                } else {
                    contents.overrule(allOf: peer, ownIDs)
                }
                peer.revocation = nil
                peer.trustedAt = trustedAt ?? Self.nowText()
                peer.pairedBy = method
            } else if old?.pairedBy == .site, let method {
                // A person trusts the key itself.
                peer.pairedBy = method
            }
            peer.name = name
            peer.addresses = addresses ?? peer.addresses
            peer.sharing = terms?.sharing ?? peer.sharing
            peer.databases = terms?.databaseSharing ?? peer.databases
            if method != nil { contents.forgive(peer, ownIDs) }
            contents.set(peer)
            return peer
        }
    }

    /// Gives a peer another name, durably.
    ///
    /// - Throws: `notFound`, and what `add` throws. Then nothing has changed.
    @discardableResult
    public func rename(_ id: NodeID, to name: String) throws(KithError) -> Peer {
        try NodeName.check(name)
        return try change { contents throws(KithError) in
            guard var peer = contents.byID[id] else { throw Self.noPeer(id) }
            try Self.check(name, isFreeFor: id, in: contents)
            peer.name = name
            contents.set(peer)
            return peer
        }
    }

    private static func check(_ name: String, isFreeFor id: NodeID, in contents: BookContents) throws(KithError) {
        guard let other = contents.idByName[name], other != id else { return }
        throw KithError(
            .nameTaken, "the name '\(name)' belongs to the peer \(other.short), which has another key",
            remedy: "Choose another name, or unpair \(other.short) first if it was set up anew")
    }

    /// Replaces the addresses of a peer, durably.
    ///
    /// - Throws: `notFound`, and what `add` throws. Then nothing has changed.
    @discardableResult
    public func setAddresses(_ id: NodeID, _ addresses: [String]) throws(KithError) -> Peer {
        try PeerBookFile.check(addresses: addresses)
        return try change { contents throws(KithError) in
            guard var peer = contents.byID[id] else { throw Self.noPeer(id) }
            peer.addresses = addresses
            contents.set(peer)
            return peer
        }
    }

    /// Says how databases are shared with a peer, durably. Acting on live connections is the caller's part.
    ///
    /// - Parameters:
    ///   - database: the one that it is about; `nil` for all of which nothing else is said.
    ///   - change: gets what is said now, and changes it.
    /// - Returns: the peer as it is in the book.
    /// - Throws: `notFound`; `tooLarge` when more is said than the book takes; `homeNotWritable`, `diskFull`,
    ///   `inputOutput`. Then nothing has changed.
    @discardableResult
    public func setSharing(
        _ id: NodeID, of database: DatabaseName?, _ change: (inout PeerSharing) -> Void
    ) throws(KithError) -> Peer {
        try self.change { contents throws(KithError) in
            guard var peer = contents.byID[id] else { throw Self.noPeer(id) }
            if let database {
                var one = peer.databases[database] ?? PeerSharing()
                change(&one)
                peer.databases[database] = one.isEmpty ? nil : one
                guard peer.databases.count <= TrustLimits.sharedDatabasesPerPeerMax else {
                    throw KithError(
                        .tooLarge,
                        "something is said of \(TrustLimits.sharedDatabasesPerPeerMax) databases of this peer already",
                        remedy: "Say it of all of them, or take back what is said of those that are gone")
                }
            } else {
                change(&peer.sharing)
            }
            contents.set(peer)
            return peer
        }
    }

    /// Forgets a peer, also one that is revoked, and what it has said of others, durably. Cutting its live connections is the
    /// caller's part. What has revoked it stays known: pairing it again overrules that.
    ///
    /// - Returns: the peer that was removed.
    /// - Throws: `notFound`, `homeNotWritable`, `diskFull`, `inputOutput`. Then it is still trusted.
    @discardableResult
    public func remove(_ id: NodeID) throws(KithError) -> Peer {
        try change { contents throws(KithError) in
            guard let peer = contents.byID[id] ?? contents.revoked[id] else { throw Self.noPeer(id) }
            contents.remove(id)
            contents.forgetStatements(by: peer)
            return peer
        }
    }

    /// Changes a copy, writes it if it is another one now, and only then lets others see it.
    func change<R>(_ body: (inout BookContents) throws(KithError) -> R) throws(KithError) -> R {
        try writer.withLock { _ throws(KithError) in
            let old = contents.withLock { $0 }
            var copy = old
            let result = try body(&copy)
            guard copy != old else { return result }
            if copy.statements != old.statements || copy.overruled != old.overruled { copy.statementsVersion += 1 }
            let encoded = PeerBookFile.encode(copy)
            // What is written can be read again.
            guard encoded.count <= TrustLimits.bookFileBytesMax else {
                throw KithError(
                    .tooLarge, "the book of peers would have more than \(TrustLimits.bookFileBytesMax) bytes",
                    remedy: "Unpair nodes that are gone")
            }
            try encoded.withUnsafeBufferPointer { bytes throws(KithError) in
                try PrivateFiles.replace(path, UnsafeRawBufferPointer(bytes))
            }
            let changed = copy
            contents.withLock { $0 = changed }
            return result
        }
    }

    static func noPeer(_ id: NodeID) -> KithError {
        KithError(.notFound, "\(id.short) is not a peer", remedy: "See who is trusted with kith status")
    }

    /// The wall clock in ISO 8601, UTC, to the second.
    static func nowText() -> String { DateText.utc(Int64(time(nil))) }
}
