import CLinux
import Glibc
import KithDocuments
import KithTransport
import KithTrust
import Synchronization

/// The folder in which a node keeps everything: its key, its peers, its databases, and its socket while it runs.
///
/// Only the owner can enter it. Its layout has a version; a home of a newer version is refused and left alone.
public final class NodeHome: Sendable {
    /// The layout that this version writes and reads.
    static let formatVersion = 1

    /// The absolute path of the folder.
    public let path: String
    /// The configuration, as `config.json` had it when the home was opened.
    public let configuration: NodeConfiguration
    /// The node's key and certificate.
    public var identity: NodeIdentity { currentIdentity.withLock { $0 } }
    private let currentIdentity: Mutex<NodeIdentity>
    /// The nodes that this one trusts.
    public let peerBook: PeerBook
    /// Who can log in with a name and a password.
    public let userBook: UserBook
    /// The site's own authority, where the configuration speaks of one.
    public let site: SiteAuthority?

    private init(
        path: String, configuration: NodeConfiguration, identity: NodeIdentity, peerBook: PeerBook, userBook: UserBook,
        site: SiteAuthority?
    ) {
        self.site = site
        self.path = path
        self.configuration = configuration
        currentIdentity = Mutex(identity)
        self.peerBook = peerBook
        self.userBook = userBook
    }

    /// The Unix socket of the running node.
    public var socketPath: String { path + "/run/kith.sock" }
    var lockPath: String { path + "/run/lock" }
    var databasesPath: String { path + "/databases" }

    /// The home that is meant when none is named: `$KITH_HOME`, else `/var/lib/kith` for root, else `kith` in the user's
    /// data folder (`$XDG_DATA_HOME` or `~/.local/share`).
    public static func defaultPath() -> String {
        func variable(_ name: String) -> String? {
            guard let value = getenv(name), value.pointee != 0 else { return nil }
            return String(cString: value)
        }
        if let home = variable("KITH_HOME") { return home }
        if getuid() == 0 { return "/var/lib/kith" }
        if let data = variable("XDG_DATA_HOME") { return data + "/kith" }
        return (variable("HOME") ?? ".") + "/.local/share/kith"
    }

    /// Makes a home: the folders, a new key with its certificate, an empty book of peers.
    ///
    /// Everything is made in the end by one file, `format`: a home whose making was interrupted has none, and the next
    /// call completes it with the key that is already there.
    ///
    /// - Parameters:
    ///   - path: where; folders above it are made as needed.
    ///   - name: the node's name for people, 1 to 64 characters.
    ///   - port: the TCP port to listen on.
    ///   - site: makes it a node of a site.
    /// - Throws: `.badConfiguration`, `.damaged` for files of the site that cannot be used; `.alreadyInitialised` when there is a home, `.homeNotWritable` when the folder cannot be written,
    ///   `.newerFormat` when a newer version made it.
    public static func create(
        at path: String, name: String, port: UInt16 = NodeLimits.portDefault, site: SiteSetup? = nil
    ) throws(KithError) -> NodeHome {
        let path = absolute(path)
        if let version = try format(at: path) {
            try check(version: version, path: path)
            throw KithError(
                .alreadyInitialised, "\(path) is a node's home already",
                remedy: "Start it with kith up, or name another home with --home")
        }
        try makeFolder(path, withParents: true)
        for part in ["/identity", "/databases", "/run"] { try makeFolder(path + part, withParents: false) }
        let authority = try site.map { setup throws(KithError) in try make(setup, at: path) }
        let identity = try identity(at: path + "/identity", name: name, site)
        var configuration = NodeConfiguration(name: name, port: port)
        configuration.site = site?.grants
        try HomeFile.write(configuration.encoded(), to: path + "/config.json")
        let book = try PeerBook(path: path + "/peers.json", ownIDs: [identity.nodeID] + identity.formerIDs)
        try HomeFile.write(Array("\(formatVersion)\n".utf8), to: path + "/format")
        return NodeHome(
            path: path, configuration: configuration, identity: identity, peerBook: book,
            userBook: try UserBook(path: path + "/users.json"), site: authority)
    }

    /// Copies the files of a site's authority into a home.
    private static func make(_ setup: SiteSetup, at path: String) throws(KithError) -> SiteAuthority {
        let folder = path + "/site"
        try makeFolder(folder, withParents: false)
        for (from, name, bytesMax) in [
            (setup.authorityPath, SiteAuthority.certificateFileName, TrustLimits.pemFileBytesMax),
            (setup.listPath, SiteAuthority.listFileName, TrustLimits.siteListBytesMax),
        ] {
            guard let from else { continue }
            try HomeFile.write(try HomeFile.read(from, bytesMax: bytesMax), to: folder + "/" + name)
        }
        return try SiteAuthority(folder: folder)
    }

    /// The identity of a new home: what an interrupted making has left, what the operator gives, or a new one.
    private static func identity(
        at folder: String, name: String, _ site: SiteSetup?
    ) throws(KithError) -> NodeIdentity {
        let isThere = access(folder + "/key.pem", F_OK) == 0
        guard let key = site?.keyPath, let certificate = site?.certificatePath else {
            return isThere
                ? try NodeIdentity.load(fromFolder: folder) : try NodeIdentity.create(inFolder: folder, name: name)
        }
        guard !isThere else {
            throw KithError(
                .alreadyInitialised, "\(folder) has a key already", remedy: "Take another home, or remove that folder")
        }
        return try NodeIdentity.adopt(keyPath: key, certificatePath: certificate, inFolder: folder)
    }

    /// Opens a home.
    ///
    /// - Throws: `.notInitialised` when there is none, `.newerFormat` when a newer version made it, `.badConfiguration`
    ///   or `.damaged` when a file in it cannot be used.
    public static func open(at path: String) throws(KithError) -> NodeHome {
        let path = absolute(path)
        guard let version = try format(at: path) else {
            throw KithError(
                .notInitialised, "there is no node's home at \(path)",
                remedy: "Make one with kith init, or name another with --home")
        }
        try check(version: version, path: path)
        let configuration = try NodeConfiguration(
            parsing: try HomeFile.read(path + "/config.json", bytesMax: 1 << 20))
        let identity = try NodeIdentity.load(fromFolder: path + "/identity")
        return NodeHome(
            path: path, configuration: configuration, identity: identity,
            peerBook: try PeerBook(path: path + "/peers.json", ownIDs: [identity.nodeID] + identity.formerIDs),
            userBook: try UserBook(path: path + "/users.json"),
            site: configuration.site == nil ? nil : try SiteAuthority(folder: path + "/site"))
    }

    /// Makes a new certificate for the node's key, durably.
    ///
    /// - Parameter name: the common name; `nil` for the configuration's.
    /// - Returns: what peers are shown from then on.
    /// - Throws: errors of the disk, `.internal`. Then the old one stays.
    func renewCertificate(name: String?) throws(KithError) -> TLSIdentity {
        guard site == nil || identity.isSelfSigned else {
            throw KithError(
                .badRequest, "the site's authority has signed the certificate, and it alone can renew it",
                remedy: "kith cert request, have it signed, kith cert install FILE")
        }
        return try use(
            try NodeIdentity.renewCertificate(
                inFolder: path + "/identity", name: name ?? Self.certificateName(configuration, identity)))
    }

    /// Puts a certificate in place that somebody has signed, durably.
    ///
    /// - Parameter certificate: PEM; of this node's key, and good for the site's authority where there is one.
    /// - Returns: what peers are shown from then on.
    /// - Throws: `.damaged`, `.notTrusted`; errors of the disk. Then the old one stays.
    func install(certificate: [UInt8]) throws(KithError) -> TLSIdentity {
        let shown = try TLSIdentity(certificatePEM: certificate, privateKeyPEM: identity.privateKeyPEM)
        switch site?.judge(shown.peerView.bytes, seconds: WallClock.seconds) {
        case nil, .member: break
        case .ofAnother: throw KithError(.notTrusted, "the certificate is not signed by the site's authority")
        case .refused(let error, _): throw error
        }
        return try use(try NodeIdentity.install(certificate: certificate, inFolder: path + "/identity"))
    }

    /// Puts a certificate in place while no node runs.
    ///
    /// - Throws: `.alreadyRunning`; what `install` throws.
    public func installCertificate(_ certificate: [UInt8]) throws(KithError) {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        _ = try install(certificate: certificate)
    }

    /// What the site's authority is asked to sign, as PEM text.
    ///
    /// - Throws: `.internal`.
    public func certificateRequest() throws(KithError) -> [UInt8] {
        try identity.certificateRequest(name: Self.certificateName(configuration, identity))
    }

    private func use(_ new: NodeIdentity) throws(KithError) -> TLSIdentity {
        guard new.nodeID == identity.nodeID else {
            throw KithError(
                .conflict, "the key in \(path) is another one than this node runs with", remedy: "Start the node anew")
        }
        let tls = try TLSIdentity(certificatePEM: new.certificatePEM, privateKeyPEM: new.privateKeyPEM)
        currentIdentity.withLock { $0 = new }
        return tls
    }

    /// What is told of the certificate.
    public var certificateJSON: JSONValue {
        let identity = identity
        return JSONValue(object: [
            ("id", .string(identity.nodeID.description)), ("name", .string(identity.certificateName)),
            ("validThrough", .string(WallClock.text(identity.validThroughSeconds))),
        ])
    }

    /// Renews the certificate while no node runs.
    ///
    /// - Throws: `.alreadyRunning`; errors of the disk.
    public func renewCertificate() throws(KithError) {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        _ = try renewCertificate(name: nil)
    }

    /// Gives the node another key while it does not run; the old key signs it, so that peers follow when they meet it. What
    /// is in the home is afterwards of the new node ID: open it anew.
    ///
    /// - Returns: the new ID.
    /// - Throws: `.alreadyRunning`; `.tooLarge` when it was rotated too often; errors of the disk. Then nothing has changed.
    public func rotateKey() throws(KithError) -> NodeID {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let new = try NodeIdentity.rotateKey(
            inFolder: path + "/identity", name: Self.certificateName(configuration, identity),
            seconds: WallClock.seconds)
        currentIdentity.withLock { $0 = new }
        return new.nodeID
    }

    /// Puts the identity in order before a node runs with it; the home's lock is held.
    func prepareIdentity() throws(KithError) {
        NodeIdentity.sweep(besideFolder: path + "/identity")
        try peerBook.signAnew(identity)
    }

    /// The configuration's rule for names is older than that of certificates.
    private static func certificateName(_ configuration: NodeConfiguration, _ identity: NodeIdentity) -> String {
        (try? NodeName.check(configuration.name)) == nil ? identity.certificateName : configuration.name
    }

    /// Takes the home for one node; the lock is free again when the object goes, also when the process is killed.
    ///
    /// - Throws: `.alreadyRunning` when another node has it, `.homeNotWritable` when it cannot be written.
    public func lock() throws(KithError) -> HomeLock { try HomeLock(path: lockPath, home: path) }

    // MARK: Parts

    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let folder = getcwd(nil, 0) else { return path }
        defer { free(folder) }
        return String(cString: folder) + "/" + path
    }

    private static func format(at path: String) throws(KithError) -> String? {
        guard access(path + "/format", F_OK) == 0 else {
            if errno == EACCES {
                throw KithError(
                    .homeNotWritable, "\(path) cannot be entered: \(String(cString: strerror(errno)))",
                    remedy: "Run as the user that owns it, or name another home with --home")
            }
            return nil
        }
        let text = String(decoding: try HomeFile.read(path + "/format", bytesMax: 64), as: UTF8.self)
        return String(text.prefix { $0 != "\n" })
    }

    private static func check(version: String, path: String) throws(KithError) {
        guard let number = Int(version), number > 0 else {
            throw KithError(
                .damaged, "\(path)/format does not hold a version number", remedy: "Restore the home from a backup")
        }
        guard number <= formatVersion else {
            throw KithError(
                .newerFormat,
                "the home \(path) was written by a newer version (format \(number), this version knows \(formatVersion))",
                remedy: "Install that version again, or name another home with --home")
        }
    }

    private static func makeFolder(_ path: String, withParents: Bool) throws(KithError) {
        if withParents, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            let parent = String(path[..<slash])
            if access(parent, F_OK) != 0 { try makeFolder(parent, withParents: true) }
        }
        if mkdir(path, 0o700) != 0 {
            let code = errno
            var info = stat()
            if code == EEXIST, stat(path, &info) == 0, info.st_mode & S_IFMT == S_IFDIR {
                guard access(path, W_OK | X_OK) == 0 else { throw HomeFile.error(path, errno) }
                return
            }
            throw HomeFile.error(path, code)
        }
    }
}
