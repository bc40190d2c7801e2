import KithDocuments
import KithWire

// Which collections a link replicates (replication by `getCollections`), and how Kith nodes come to have the same ones.

extension ReplicationSession {
    /// The message in which a passive Kith node names collections that the active one has not opened.
    static let collectionsProfile = "kith-collections"

    // MARK: The active side

    /// How many collections the passive side is about to name, in the answer to `getCollections`.
    private static let moreProperty = "kith-more"

    /// Opens all collections of the database; where the peer may not read, the default one, and others when it names them.
    func openFirstCollections() {
        guard configuration.directions.contains(.send) else { return open([.default]) }
        isOpening = true
        perform(.listCollections) { [unowned self] result in
            guard case .collectionNames(let names) = result else { return storeFailed(result) }
            isOpening = false
            open(names)
        }
    }

    /// Opens what waits, as one message after the other, since the places are given in their order.
    private func openNext() {
        let names = unopened
        unopened = []
        isOpening = !names.isEmpty
        guard isOpening else { return }
        let checkpoint = Checkpointer.ownName(configuration)
        perform(
            .openCollections(
                names.map { ($0, localDocument: checkpoint) },
                bytesMax: configuration.limits.checkpointBytesAnsweredMax)
        ) { [unowned self] result in
            guard case .openedCollections(let found) = result else { return storeFailed(result) }
            // One that is gone has been dropped meanwhile, and may be made anew.
            let opened = found.compactMap { $0 }
            named.subtract(zip(names, found).filter { $1 == nil }.map(\.0))
            guard !opened.isEmpty else { return openNext() }
            let body = JSONValue.object([
                "checkpoint_ids": .array(opened.map { _ in .string(configuration.checkpointName) }),
                "collections": .array(opened.map { .string($0.name.text) }),
            ])
            namesCame = false
            send(
                BLIPOutgoing(
                    properties: [
                        "Profile": "getCollections", Self.directionProperty: configuration.directions.name,
                    ], body: body.canonicalBytes())
            ) { [unowned self] in received($0, opened) }
        }
    }

    private func received(_ reply: BLIPMessage, _ opened: [OpenedCollection]) {
        if let error = reply.error {
            if mode == .undecided, error.domain == "BLIP", error.code == 404 {
                // A Kith node that knows of the default collection only.
                (isOpening, unopened, announced, awaitsNames) = (false, [], [], false)
                return beginLegacy()
            }
            return end(
                closeCode: error.code == 503 ? 4001 : 4002,
                "the peer does not open collections: \(error.domain) \(error.code) \(error.message.prefix(200))")
        }
        guard let items = (try? JSONValue(parsing: reply.body))?.arrayValue, items.count == opened.count else {
            return violation(KithError(.protocolViolation, "the answer to getCollections is not a list of as many"))
        }
        mode = .collections
        learnDirections(reply)
        // A long answer ends after the short message behind it.
        if reply.properties.int(Self.moreProperty) ?? 0 > 0, directions.contains(.receive), !namesCame {
            awaitsNames = true
        }
        for (collection, item) in zip(opened, items) {
            if item.objectValue == nil {
                addPlace(nil)
                notAtPeer.insert(collection.name)
                // Who does not take changes has no need of it.
                guard directions.contains(.send) else { continue }
                refused(
                    collection.name, by: .peer, isOutgoing: true, code: 404,
                    reason: "the peer has not made this collection")
            } else {
                addPlace(collection)?.begin(own: collection.checkpoint, peers: item)
            }
        }
        openNext()
    }

    /// The peer has collections that are not open.
    func receiveCollections(_ message: BLIPMessage) {
        // It can come before the answer to the first `getCollections`.
        guard configuration.role == .active, mode != .legacy, configuration.directions.contains(.receive) else {
            return
        }
        (awaitsNames, namesCame) = (false, true)
        let names = Self.names((try? JSONValue(parsing: message.body)) ?? .null) ?? []
        // What the peer could not make before is there now.
        named.subtract(names.filter { notAtPeer.remove($0) != nil })
        let new = Set(names).subtracting(named).subtracting(announced).sorted()
        guard !new.isEmpty else { return }
        announced.formUnion(new)
        perform(.createCollections(new)) { [unowned self] result in
            guard mode != .legacy else { return }
            announced.subtract(new)
            switch result {
            case .written: open(new)
            case .failed(let error) where !error.code.isRetryable:
                for name in new {
                    refused(
                        name, by: .here, isOutgoing: false, code: error.code.httpStatus, reason: error.message)
                }
            default: storeFailed(result)
            }
        }
    }

    private func open(_ names: [CollectionName]) {
        unopened += names.filter { named.insert($0).inserted }
        if !isOpening { openNext() }
    }

    /// The database has collections that are not open.
    func haveCollections(_ names: [CollectionName]) {
        // The others are for those who may read.
        guard configuration.peerIsKith, mode != .legacy, directions.contains(.send) else { return }
        if configuration.role == .active {
            open(names)
        } else if mode == .collections {
            let new = names.filter { named.insert($0).inserted }
            guard !new.isEmpty else { return }
            announced.formUnion(new)
            // One that was dropped meanwhile is not told of, or the peer would make it again.
            perform(.listCollections) { [unowned self] result in
                guard case .collectionNames(let present) = result else { return storeFailed(result) }
                let gone = Set(new).subtracting(present)
                named.subtract(gone)
                announced.subtract(gone)
                tell(new.filter(announced.contains))
            }
        }
    }

    // MARK: The passive side

    private func tell(_ names: [CollectionName]) {
        guard !names.isEmpty else { return }
        send(
            BLIPOutgoing(
                properties: ["Profile": Self.collectionsProfile],
                body: JSONValue.array(names.map { .string($0.text) }).canonicalBytes(), isNoReply: true))
    }

    /// `getCollections`: says which of the named collections are here, with the checkpoints that the peer keeps in them.
    func getCollections(_ message: BLIPMessage) {
        func refuse(_ text: String) { replyError(domain: "HTTP", code: 400, text, to: message) }
        guard configuration.role == .passive, mode == .undecided || (mode == .collections && configuration.peerIsKith)
        else { return refuse("getCollections is the first message of the active side") }
        guard !isOpening else { return refuse("getCollections comes before the last one was answered") }
        guard let value = try? JSONValue(parsing: message.body), let names = Self.names(value["collections"] ?? .null),
            let checkpoints = value["checkpoint_ids"]?.arrayValue?.map({ $0.stringValue ?? "" }),
            names.count == checkpoints.count, !names.isEmpty
        else { return refuse("getCollections needs collections and checkpoint_ids, two lists of as many texts") }
        guard Set(names).count == names.count, !names.contains(where: isReplicated) else {
            return refuse("getCollections names a collection twice")
        }
        guard places.count + names.count <= configuration.limits.collectionsMax else {
            return refuse("at most \(configuration.limits.collectionsMax) collections are replicated")
        }
        guard checkpoints.allSatisfy(isLegalCheckpoint) else {
            return refuse(
                "a checkpoint has a name of at most \(configuration.limits.checkpointNameBytesMax) bytes")
        }
        mode = .collections
        learnDirections(message)
        isOpening = true
        named.formUnion(names)
        let wanted = zip(names, checkpoints).map { ($0, localDocument: CollectionReplicator.checkpointPrefix + $1) }
        perform(.openCollections(wanted, bytesMax: configuration.limits.checkpointBytesAnsweredMax)) {
            [unowned self] result in
            guard case .openedCollections(let opened) = result else { return storeFailed(result) }
            let missing = zip(names, opened).filter { $1 == nil }.map(\.0)
            guard configuration.peerIsKith, !missing.isEmpty, directions.contains(.receive) else {
                return answer(names, opened, to: message)
            }
            perform(.createCollections(missing)) { [unowned self] result in
                // Where they can never be made, the answer says so.
                if case .failed(let error) = result, error.code.isRetryable { return storeFailed(result) }
                perform(.openCollections(wanted, bytesMax: configuration.limits.checkpointBytesAnsweredMax)) {
                    [unowned self] result in
                    guard case .openedCollections(let opened) = result else { return storeFailed(result) }
                    answer(names, opened, to: message)
                }
            }
        }
    }

    private func answer(_ names: [CollectionName], _ opened: [OpenedCollection?], to message: BLIPMessage) {
        // A client is told of nothing else.
        guard configuration.peerIsKith, directions.contains(.send) else {
            return answer(names, opened, others: [], to: message)
        }
        perform(.listCollections) { [unowned self] result in
            guard case .collectionNames(let present) = result else { return storeFailed(result) }
            answer(names, opened, others: present, to: message)
        }
    }

    private func answer(
        _ names: [CollectionName], _ opened: [OpenedCollection?], others: [CollectionName], to message: BLIPMessage
    ) {
        isOpening = false
        announced.subtract(names)
        named.subtract(zip(names, opened).filter { $1 == nil }.map(\.0))
        var items: [JSONValue] = []
        for collection in opened {
            addPlace(collection)?.servePeer()
            items.append(collection.map(Self.checkpoint) ?? .null)
        }
        let new = others.filter { !isReplicated($0) && named.insert($0).inserted }
        var properties: BLIPProperties = [:]
        if configuration.peerIsKith {
            properties.append(Self.directionProperty, configuration.directions.name)
            if !new.isEmpty { properties.append(Self.moreProperty, String(new.count)) }
        }
        reply(to: message, BLIPOutgoing(properties: properties, body: JSONValue.array(items).canonicalBytes()))
        announced.formUnion(new)
        tell(new)
    }

    /// What is said of a collection that is here: its checkpoint with the revision in it, or `{}`.
    private static func checkpoint(_ collection: OpenedCollection) -> JSONValue {
        guard let stored = collection.checkpoint.flatMap(StoredCheckpoint.init(decoding:)),
            var members = (try? JSONValue(parsing: stored.body))?.objectValue
        else { return .object([:]) }
        members["rev"] = .string(StoredCheckpoint.text(revision: stored.revision))
        return .object(members)
    }

    /// The names in a list; `nil` when it is none or has what is no name.
    private static func names(_ list: JSONValue) -> [CollectionName]? {
        guard let items = list.arrayValue else { return nil }
        var names: [CollectionName] = []
        for item in items {
            guard let name = item.stringValue.flatMap({ try? CollectionName($0) }) else { return nil }
            names.append(name)
        }
        return names
    }
}
