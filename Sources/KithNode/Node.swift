import KithAccess
import KithDiscovery
import KithDocuments
import KithStore
import KithTransport
import KithTrust

/// A running node: its databases, the links to its peers, discovery, and the administration socket.
///
/// ```swift
/// let home = try NodeHome.open(at: NodeHome.defaultPath())
/// let node = try await Node.start(home: home)
/// …
/// await node.stop()
/// ```
///
/// At most one node runs on a home. While it runs, its databases belong to it.
@LoopActor
public final class Node {
    /// The version of this program.
    public nonisolated static let version = "0.1.0"

    /// The home it runs on.
    public nonisolated let home: NodeHome
    /// The name under which it is seen.
    public nonisolated let name: String
    /// The TCP port on which it listens.
    public private(set) var port: UInt16 = 0
    /// The TCP port of the loopback on which administration is served over TLS; `nil` where it is not switched on.
    public var administrationPort: UInt16? { administration?.port }

    let registry: DatabaseRegistry
    let links: LinkManager
    let httpReplications: HTTPReplicationManager
    let access: RESTAccess
    let replicator: ReplicatorDocuments
    let log: NodeLog
    let startedSeconds = WallClock.seconds
    /// Held until the node has stopped, also when somebody still holds the node itself.
    private var lock: HomeLock?
    private let options: NodeOptions
    private let newcomers: Newcomers
    let pairing: PairingManager
    let invitations: InvitationManager
    let trustManager: TrustManager
    let site: SiteKeeper?
    var keyAlarms = KeyAlarms() {
        didSet {
            if keyAlarms.lasting.differs(from: oldValue.lasting) { keepAlarms() }
        }
    }
    var certificateTimer: LoopTimer?
    private var listener: Listener?
    private var administration: AdministrationServer?
    /// How REST is served on the port of replication.
    let publicREST: PublicRESTSettings
    /// What serves it; nil where that is not switched on.
    private(set) var publicServer: PublicServer?
    private var discovery: Discovery?
    private var network: NetworkWatcher?
    private var inbound: [ObjectIdentifier: InboundConnection] = [:]
    var discoveryStatus = NodeStatus.DiscoveryStatus.off(reason: "it is starting", remedy: nil)
    var listening: [String] = []
    var nearby = NearbyNodes()
    private var statusWaiters: [CheckedContinuation<Void, Never>] = []
    /// Counts what status shows; a reader that has seen this number has seen everything.
    private(set) var statusVersion: UInt64 = 0
    private(set) var isStopping = false
    private var hasStarted = false

    private init(home: NodeHome, options: NodeOptions, lock: HomeLock) throws(KithError) {
        self.home = home
        self.options = options
        self.lock = lock
        name = options.name ?? home.configuration.name
        log = NodeLog(write: options.log)
        registry = DatabaseRegistry(folder: home.databasesPath)
        httpReplications = HTTPReplicationManager(registry: registry, log: log)
        replicator = ReplicatorDocuments(
            path: home.path + "/replications.json", manager: httpReplications, registry: registry, log: log)
        var rest = home.configuration.rest ?? PublicRESTSettings()
        if options.servesREST { rest.isOn = true }
        publicREST = rest
        let identity = try TLSIdentity(
            certificatePEM: home.identity.certificatePEM, privateKeyPEM: home.identity.privateKeyPEM)
        let client = try TLSContext.client(identity: identity, verify: Self.verifier(home))
        self.identity = identity
        var addresses: [SocketAddress] = []
        for text in home.configuration.peers + options.peers {
            addresses.append(try SocketAddress(parsing: text, defaultPort: NodeLimits.portDefault))
        }
        links = LinkManager(
            ownID: home.identity.nodeID, book: home.peerBook, registry: registry, client: client,
            addresses: AddressBook(configured: addresses), log: log)
        access = try RESTAccess(
            registry: registry, links: links, users: home.userBook, letsGuestsIn: rest.isOn && rest.letsGuestsIn)
        // Others take no other names; the configuration's rule is older.
        let shownName = (try? NodeName.check(name)) == nil ? home.identity.nodeID.short : name
        newcomers = Newcomers(book: home.peerBook)
        pairing = try PairingManager(
            identity: identity, ownID: home.identity.nodeID, ownName: shownName, book: home.peerBook,
            newcomers: newcomers, log: log)
        invitations = try InvitationManager(
            identity: identity, ownID: home.identity.nodeID, ownName: shownName, book: home.peerBook,
            newcomers: newcomers, log: log)
        site = home.site.map { [log] authority in
            SiteKeeper(
                authority: authority, grants: home.configuration.site ?? SiteGrants(),
                configurationPath: home.path + "/config.json", ownID: home.identity.nodeID, book: home.peerBook,
                log: log)
        }
        trustManager = try TrustManager(identity: home.identity, tls: identity, book: home.peerBook, log: log)
    }

    private(set) var identity: TLSIdentity

    /// Starts a node.
    ///
    /// - Parameters:
    ///   - home: where it lives.
    ///   - options: what differs from the home's configuration.
    /// - Throws: `.alreadyRunning` when a node runs on the home, `.portBusy`, `.homeNotWritable`, `.badConfiguration`.
    ///   Nothing is left running then.
    public static func start(home: NodeHome, options: NodeOptions = NodeOptions()) async throws(KithError) -> Node {
        let lock = try home.lock()
        try home.prepareIdentity()
        let node = try Node(home: home, options: options, lock: lock)
        do {
            try await node.begin()
        } catch {
            await node.stop()
            throw error
        }
        return node
    }

    private func begin() async throws(KithError) {
        // Before anything is linked.
        links.filters = options.pushFilters.mapValues { LinkManager.Filters(all: $0) }
        links.onChange = { [weak self] in self?.statusChanged() }
        httpReplications.onChange = { [weak self] in self?.statusChanged() }
        pairing.onChange = { [weak self] in self?.statusChanged() }
        invitations.onChange = { [weak self] in self?.statusChanged() }
        newcomers.onTrust = { [weak self] id, name, address, terms, method throws(KithError) in
            guard let self, !isStopping else { throw KithError(.closed, "the node is stopping") }
            if let address { links.answered(id, at: address) }
            return try trust(id, name: name, terms: terms, method: method)
        }
        recallAlarms()
        beginTrust()
        try beginSite()
        registry.onOpen = { [weak self] database in
            guard let self else { return }
            database.onChange = { [weak self] in self?.links.databaseChanged($0, $1) }
            links.refresh()
            if hasStarted { replicator.databaseOpened() }
        }
        registry.onRemove = { [weak self] database in
            self?.links.remove(database: database.name)
            self?.httpReplications.remove(database: database.name)
            self?.databaseRemoved(database.name)
        }
        access.logins.onFailure = { [weak self] address in
            self?.log.aboutStranger("\(address)  a login failed", key: "login \(address)")
        }
        if publicREST.isOn { publicServer = PublicServer(node: self, settings: publicREST) }
        // The port first: of all that can fail, it fails most often, and nothing is touched then.
        try listen()
        try await registry.openAll { name, error in
            log("database \(name) cannot be opened: \(error)")
        }
        administration = try AdministrationServer(
            node: self, port: options.administrationPort ?? home.configuration.administrationPort, identity: identity)
        if let port = administrationPort { log("administration over TLS on https://localhost:\(port)/") }
        log(
            "\(name)  \(home.identity.nodeID.short)  listening on port \(port), \(registry.all.count) databases, \(home.peerBook.peers.count) peers"
        )
        if publicREST.isOn { log("REST for users and peers on https://localhost:\(port)/") }
        hasStarted = true
        links.refresh()
        replicator.start()
        watchNetwork()
        watchCertificate()
        discover()
        statusChanged()
    }

    /// Ends it: no new work, links closed so that peers come back, writes under way finished, databases closed. Takes at
    /// most `NodeLimits.stopSecondsMax`, plus what the disk takes for writes under way.
    public func stop() async {
        guard !isStopping else { return }
        isStopping = true
        statusChanged()
        listener?.close()
        for connection in inbound.values { connection.stop() }
        inbound = [:]
        let discovery = self.discovery
        self.discovery = nil
        if let discovery { await Task.detached { discovery.stop() }.value }
        network?.close()
        links.stop()
        replicator.stop()
        httpReplications.stop()
        pairing.stop()
        invitations.stop()
        trustManager.stop()
        site?.stop()
        certificateTimer?.cancel()
        newcomers.onTrust = nil
        await publicServer?.stop()
        await administration?.stop()
        await registry.closeAll()
        lock = nil
        if hasStarted { log("\(name)  stopped") }
    }

    // MARK: Databases

    /// The databases of this node, by name.
    public var databaseNames: [DatabaseName] { registry.all.map(\.name) }

    /// An open database. It belongs to the node, which closes it.
    ///
    /// - Throws: `.databaseNotFound`.
    public func database(_ name: DatabaseName) throws(KithError) -> Database { try registry.database(name).database }

    /// Changes what a database is set to, such as `mergePolicy`, and begins with what follows from it.
    ///
    /// - Returns: what it is set to now.
    /// - Throws: `.databaseNotFound`, `.badRequest` for a setting that is out of range; errors of the store.
    @discardableResult
    public func setSettings(
        of name: DatabaseName, _ change: @escaping @Sendable (inout DatabaseSettings) -> Void
    ) async throws -> DatabaseSettings {
        try await registry.database(name).setSettings(change)
    }

    /// Has the app decide how documents of a database in conflict are resolved, until the database is deleted, the
    /// node stops or the app says otherwise; it comes before the database's own `mergePolicy`. See `ConflictResolver.Resolve`.
    ///
    /// ```swift
    /// try await node.setConflictResolver(of: notes) { conflict in
    ///     let merged = try merge(conflict.commonAncestor?.body, conflict.versions.map(\.body))
    ///     return .merged(body: merged)
    /// }
    /// ```
    ///
    /// - Parameter resolve: nil for none any more.
    /// - Throws: `.databaseNotFound`.
    public func setConflictResolver(of name: DatabaseName, _ resolve: ConflictResolver.Resolve?) async throws(KithError)
    {
        try await registry.database(name).resolver.setResolver(resolve)
    }

    /// The conflicts of a database that could not be resolved by themselves, each with why.
    ///
    /// - Throws: `.databaseNotFound`.
    public func conflictFailures(of name: DatabaseName) async throws(KithError) -> [ConflictFailure] {
        try await registry.database(name).resolver.failures
    }

    /// Makes a database; it is replicated with every peer that has one of the same name.
    ///
    /// - Throws: `.databaseExists`, and errors of the store.
    public func createDatabase(_ name: DatabaseName) async throws(KithError) {
        try await registry.create(name)
        log("database \(name) was made")
    }

    /// Makes a database from a file: from a backup, or with `isNew` as a new database with the same content. See
    /// `Database.restore` and `Database.copyPrebuilt`.
    ///
    /// - Throws: `.databaseExists`, and errors of the store.
    public func restoreDatabase(
        _ name: DatabaseName, from file: String, isNew: Bool,
        progress: @escaping @Sendable (MaintenanceProgress) -> Void = { _ in }
    ) async throws {
        try await registry.create(name) { path in
            if isNew {
                try await Database.copyPrebuilt(from: file, to: path, name: name, progress: progress)
            } else {
                try await Database.restore(from: file, to: path, name: name, progress: progress)
            }
        }
        log("database \(name) was \(isNew ? "copied from a file" : "restored from a backup")")
    }

    /// Removes a database here, with everything in it. Peers keep theirs.
    ///
    /// - Throws: `.databaseNotFound`, and errors of the file system.
    public func deleteDatabase(_ name: DatabaseName) async throws(KithError) {
        try await registry.remove(name)
        log("database \(name) was removed")
        statusChanged()
    }

    // MARK: The network

    /// Who is let in, see `TrustDecision`.
    ///
    /// - Parameter takesStrangers: whether somebody whose key was never heard of is let in as if he had none.
    private nonisolated static func verifier(_ home: NodeHome, takesStrangers: Bool = false) -> TLSVerify {
        let decision = TrustDecision(book: home.peerBook, site: home.site, takesStrangers: takesStrangers)
        return { decision.verdict($0) }
    }

    private func listen() throws(KithError) {
        let wanted = options.port ?? home.configuration.port
        let address =
            try (options.listen ?? home.configuration.listen).map { text throws(KithError) in
                try SocketAddress(parsing: text, defaultPort: wanted)
            } ?? .anyHost(port: wanted)
        let listener = try Listener.tcp(address, tls: try serverContext(identity)) { [weak self] connection in
            self?.accept(connection)
        }
        self.listener = listener
        port = listener.localAddress?.port ?? wanted
        listening = [listener.localAddress?.description ?? "port \(port)"]
        listener.onRefused = { [weak self] refused in
            guard let self else { return }
            if let certificate = refused.certificate { noteShown(certificate, at: refused.remoteName) }
            let host = refused.remoteName.split(separator: ":").dropLast().joined(separator: ":")
            let who = refused.certificate.map { NodeID(subjectPublicKeyHash: $0.publicKeyHash).short + " " } ?? ""
            log.aboutStranger(
                "\(who)\(refused.remoteName)  refused: \(refused.error.message)",
                key: "refused \(who)\(host) \(refused.error.code)")
        }
        listener.onTrouble = { [weak self] error in
            self?.log("new connections must wait: \(error.message)", key: "trouble \(error.code)")
        }
    }

    private func accept(_ connection: Connection) {
        guard !isStopping, let info = connection.info else { return connection.abort() }
        guard let certificate = info.peer else { return acceptStranger(connection) }
        switch info.applicationProtocol {
        case PairingSession.applicationProtocol: return pairing.accept(connection, info)
        case InvitationSession.applicationProtocol: return invitations.accept(connection, info)
        case TrustExchange.applicationProtocol: return trustManager.accept(connection, info)
        default: break
        }
        let id = NodeID(subjectPublicKeyHash: certificate.publicKeyHash)
        guard id != home.identity.nodeID else { return acceptOwnKey(connection, info) }
        site?.look(at: certificate)
        guard home.peerBook.peer(id) != nil else {
            // Trust may have been taken back during the handshake.
            guard home.peerBook.peer(everCalled: id) == nil else { return connection.abort() }
            noteShown(certificate, at: info.remoteName)
            log.aboutStranger(
                "\(id.short) \(info.remoteName)  is not trusted here; it may do over REST what strangers may",
                key: "stranger \(id)")
            return acceptStranger(connection)
        }
        let inbound = InboundConnection(connection, info: info, peer: id, registry: registry, links: links, log: log)
        let key = ObjectIdentifier(inbound)
        self.inbound[key] = inbound
        inbound.onDone = { [weak self] in self?.inbound[key] = nil }
        if let publicServer {
            inbound.onREST = { publicServer.accept($0, as: .peer(id), head: ($1, $2)) }
        }
        inbound.start()
    }

    private func acceptStranger(_ connection: Connection) {
        guard let publicServer else { return connection.abort() }
        publicServer.accept(connection, as: .nobody)
    }

    /// The owner of this machine's node, who calls from this machine; from elsewhere it is a copy of the home.
    private func acceptOwnKey(_ connection: Connection, _ info: ConnectionInfo) {
        guard let publicServer, let address = info.remoteAddress,
            address.isLoopback || NetworkWatcher.isOfThisMachine([address.host])
        else {
            log.aboutStranger("\(info.remoteName)  refused: it shows this node's own key", key: "own key")
            keyAlarms.noteOwnKey(address: info.remoteName, seconds: WallClock.seconds)
            statusChanged()
            return connection.abort()
        }
        publicServer.accept(connection, as: .user(Principal(name: nil, roles: [AccessName.administrator])))
    }

    /// Ends what a peer has opened and what has not become a link yet.
    func stopInbound(_ id: NodeID) {
        peerRightsChanged(id)
        for connection in inbound.values where connection.peer == id { connection.stop() }
    }

    /// Shows another certificate from now on.
    func show(_ tls: TLSIdentity) throws(KithError) {
        listener?.tls = try serverContext(tls)
        try administration?.use(tls)
        links.client = try TLSContext.client(identity: tls, verify: Self.verifier(home))
        try pairing.use(tls)
        try invitations.use(tls)
        try trustManager.use(tls)
        identity = tls
    }

    /// Who asks for pairing, or tells of keys, may have any key, and can speak nothing else.
    private func serverContext(_ identity: TLSIdentity) throws(KithError) -> TLSContext {
        try TLSContext.server(
            identity: identity, verify: Self.verifier(home, takesStrangers: publicREST.isOn),
            protocols: [
                PairingSession.applicationProtocol: { _ in .trusted },
                InvitationSession.applicationProtocol: { _ in .trusted },
                TrustExchange.applicationProtocol: { _ in .trusted },
            ], takesNoCertificate: publicREST.isOn)
    }

    /// Has absent peers dialled as soon as this machine is on a network that it was not on.
    private func watchNetwork() {
        do {
            network = try NetworkWatcher { [weak self] addresses in
                guard let self, !isStopping else { return }
                log("on the network with \(addresses.joined(separator: ", "))", key: "network")
                links.networkChanged()
            }
        } catch {
            log("changes of the network are not noticed: \(error.message)")
        }
    }

    /// What users may do has changed: nothing goes on with rights that are no more.
    func rightsChanged(by exchange: RESTExchange?) {
        access.rightsChanged()
        administration?.rightsChanged(by: exchange)
        publicServer?.rightsChanged(by: exchange)
    }

    /// What a peer may do has changed, or with nil what any may: nothing of it goes on over REST.
    func peerRightsChanged(_ id: NodeID?) {
        access.rightsChanged()
        publicServer?.cut(peer: id)
    }

    /// A database is no more: a request to it that is under way must not find another of its name.
    private func databaseRemoved(_ name: DatabaseName) {
        access.rightsChanged()
        administration?.cut(database: name)
        publicServer?.cut(database: name)
    }

    // MARK: Trust

    /// Trusts a node: links with it are made as soon as it is reached.
    ///
    /// - Throws: errors of the book: a name that is taken, this node itself, a disk that is full.
    @discardableResult
    public func trust(_ id: NodeID, name: String?) throws(KithError) -> Peer {
        try trust(id, name: name, terms: nil, method: .id)
    }

    /// - Parameters:
    ///   - terms: how databases are shared with it from the first moment; `nil` leaves what is said.
    ///   - method: how a person has decided it.
    func trust(
        _ id: NodeID, name: String?, terms: InvitationTerms?, method: PairingMethod
    ) throws(KithError) -> Peer {
        guard id != home.identity.nodeID else {
            throw KithError(
                .badRequest, "that is this node's own ID",
                remedy: "Type the ID that kith id prints on the other machine")
        }
        let name =
            name ?? home.peerBook.revokedPeer(id)?.name ?? nearby.name(shortID: id.short) ?? id.short
        let old = home.peerBook.peer(id)
        let peer = try home.peerBook.add(id, name: name, terms: terms, method: method)
        keyAlarms.forget(id)
        if let old {
            links.sharingChanged(from: old)
            peerRightsChanged(id)
        }
        log("\(peer.name)  \(id.short)  is trusted now")
        links.refresh()
        statusChanged()
        return peer
    }

    /// Trusts a node no more: live links are cut before this returns.
    ///
    /// - Throws: `.notFound` when it is not in the book; errors of the disk.
    public func untrust(_ id: NodeID) throws(KithError) {
        let peer = try home.peerBook.remove(id)
        links.remove(peer: id)
        stopInbound(id)
        keyAlarms.forget(id)
        log("\(peer.name)  \(id.short)  is no longer trusted")
        statusChanged()
    }

    /// Says how databases are shared with a peer: what it may do, and whether they are replicated always or when somebody asks.
    /// Live links that it concerns are cut before this returns.
    ///
    /// ```swift
    /// try node.setSharing(with: laptop, of: notes) { $0.access = .read }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the peer.
    ///   - database: the one that it is about, which need not be there; nil for all of which nothing else is said.
    ///   - change: gets what is said now, and changes it.
    /// - Returns: the peer as it is in the book now.
    /// - Throws: `.notFound` when it is no peer; errors of the disk. Then nothing has changed.
    @discardableResult
    public func setSharing(
        with id: NodeID, of database: DatabaseName? = nil, _ change: (inout PeerSharing) -> Void
    ) throws(KithError) -> Peer {
        let old = home.peerBook.peer(id)
        try checkGrants(old, database, change)
        let peer = try home.peerBook.setSharing(id, of: database, change)
        if let old {
            links.sharingChanged(from: old)
            peerRightsChanged(id)
        }
        let what = database.map { "database \($0)" } ?? "databases"
        log("\(peer.name)  \(id.short)  \(what) shared otherwise now")
        statusChanged()
        return peer
    }

    // MARK: Discovery

    /// Whether other nodes are wanted to be looked for.
    var discovers: Bool { options.discovers }

    private func discover() {
        guard options.discovers else {
            discoveryStatus = .off(reason: "it was switched off", remedy: "Start the node without --no-discovery")
            return
        }
        let discovery = Discovery(
            advertisement: ServiceAdvertisement(
                name: name, port: port, nodeShortID: home.identity.nodeID.short)
        ) { [weak self] event in
            EventLoop.shared.post { self?.discovered(event) }
        }
        do {
            try discovery.start()
            self.discovery = discovery
        } catch {
            discovered(.state(.off(reason: error.message, remedy: error.remedy)))
        }
    }

    private func discovered(_ event: DiscoveryEvent) {
        guard !isStopping else { return }
        switch event {
        case .state(.on(let interfaces)):
            discoveryStatus = .on(interfaces: interfaces)
            log("discovery on")
        case .state(.off(let reason, let remedy)):
            discoveryStatus = .off(reason: reason, remedy: remedy)
            nearby.removeAll()
            log("discovery off: \(reason)\(remedy.map { ". \($0)" } ?? "")")
        case .found(let found):
            let addresses = found.dialAddresses.compactMap { try? SocketAddress(parsing: $0) }
            guard let first = addresses.first else { return }
            guard !found.isOwn else {
                // This node seen by itself, or another machine with its key, which is asked.
                if found.port != port || !NetworkWatcher.isOfThisMachine(found.addresses) { trustManager.ask(first) }
                return
            }
            if nearby.found(found, address: first.description) {
                log.aboutStranger("\(found.instanceName)  \(found.shortID)  seen at \(first)")
            }
            links.discovered(shortID: found.shortID, addresses: addresses)
            for peer in home.peerBook.peers where peer.id.short == found.shortID {
                trustManager.tell(peer.id, isNews: true)
            }
            lookAtName(found.instanceName, shortID: found.shortID, addresses)
        case .lost(let instanceName, let interface): nearby.lost(instanceName: instanceName, interface: interface)
        case .published(let instanceName): log("published as \(instanceName)")
        case .notPublished(let reason, let remedy):
            log("not published: \(reason)\(remedy.map { ". \($0)" } ?? "")")
        }
        statusChanged()
    }

    // MARK: Status

    func statusChanged() {
        statusVersion += 1
        let waiters = statusWaiters
        statusWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until status shows something else than at that version, or the node stops.
    func waitForStatus(after version: UInt64) async {
        guard statusVersion == version, !isStopping else { return }
        await withCheckedContinuation { statusWaiters.append($0) }
    }
}
