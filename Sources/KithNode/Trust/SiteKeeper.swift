import KithDocuments
import KithTransport
import KithTrust

/// Keeps to the site's authority while the node runs: lets its nodes in, reads its list anew, and cuts off whom it no longer lets in.
@LoopActor
final class SiteKeeper {
    let authority: SiteAuthority
    private var grants: SiteGrants
    private let configurationPath: String
    private var configurationStamp: FileStamp
    /// Why what the configuration says now is not in force.
    private var grantsFault: String?
    private let ownID: NodeID
    private let book: PeerBook
    private let log: NodeLog
    /// What nodes of the site have shown last, to be judged again when the list changes or time passes.
    private var shown: [NodeID: PeerCertificate] = [:]
    /// Why a node of the site is kept out.
    private var refusals: [NodeID: KithError] = [:]
    private var timer: LoopTimer?
    private var judgedNanoseconds = EventLoop.monotonicNanoseconds
    /// Called with a node of the site as it was, when it may do something else now.
    var onGrants: ((Peer) -> Void)?
    /// Called when a node was let in that was not in the book.
    var onAdmitted: ((Peer) -> Void)?
    /// Called when a node is not let in any more: its links are to be cut.
    var onRefused: ((Peer) -> Void)?
    /// Called now and then: unknown nodes are to be asked for their certificates.
    var onLook: (() -> Void)?
    /// Called when something that is shown has changed.
    var onChange: (() -> Void)?

    /// - Parameter configurationPath: `config.json`, which says what the nodes of the site may do.
    init(
        authority: SiteAuthority, grants: SiteGrants, configurationPath: String, ownID: NodeID, book: PeerBook,
        log: NodeLog
    ) {
        self.configurationPath = configurationPath
        configurationStamp = FileStamp(of: configurationPath)
        self.authority = authority
        self.grants = grants
        self.ownID = ownID
        self.book = book
        self.log = log
    }

    func start() throws(KithError) {
        try book.setSiteGrants(access: grants.access, databases: grants.databases)
        keepList()
        arm()
    }

    func stop() {
        timer?.cancel()
        timer = nil
        (onAdmitted, onRefused, onLook, onChange, onGrants) = (nil, nil, nil, nil, nil)
    }

    /// Looks at a certificate whose key the other side has proved to have, and lets the node in if it is one of the site.
    func look(at certificate: PeerCertificate) {
        let id = NodeID(subjectPublicKeyHash: certificate.publicKeyHash)
        let known = book.peer(id)
        guard id != ownID, known.map({ $0.pairedBy == .site }) ?? (book.peer(everCalled: id) == nil) else { return }
        switch authority.judge(certificate.bytes, seconds: WallClock.seconds) {
        case .member(let member):
            if shown.count >= TrustLimits.peersMax, shown[id] == nil { shown = [:] }
            shown[id] = certificate
            if refusals.removeValue(forKey: id) != nil { onChange?() }
            guard known == nil else { return }
            do {
                let peer = try book.admit(member, access: grants.access, databases: grants.databases)
                log("\(peer.name)  \(id.short)  is let in by the site's authority")
                onAdmitted?(peer)
            } catch {
                log.aboutStranger("\(id.short)  is not let in: \(error.message)", key: "admitting \(id)")
            }
        case .refused(let error, _):
            if let known { refuse(known, error) }
        case .ofAnother:
            if let known { refuse(known, TrustDecision.needsCertificate(known)) }
        }
    }

    private func refuse(_ peer: Peer, _ error: KithError) {
        let isNew = refusals[peer.id] == nil
        refusals[peer.id] = error
        shown[peer.id] = nil
        guard isNew else { return }
        log("\(peer.name)  \(peer.id.short)  is not let in any more: \(error.message)")
        onRefused?(peer)
        onChange?()
    }

    private func arm() {
        timer = EventLoop.shared.schedule(afterSeconds: NodeLimits.siteLookSeconds) { [weak self] in
            self?.lookAround()
            self?.arm()
        }
    }

    private func lookAround() {
        let now = EventLoop.monotonicNanoseconds
        lookAtGrants()
        let isChanged = authority.refresh()
        if isChanged {
            keepList()
            log(
                "the revocation list of the site's authority has changed\(authority.listFault.map { ", and is not used: \($0)" } ?? "")"
            )
            onChange?()
        }
        if isChanged || Double(now - judgedNanoseconds) / 1e9 >= NodeLimits.siteJudgeSeconds {
            judgedNanoseconds = now
            for certificate in shown.values { look(at: certificate) }
        }
        onLook?()
    }

    private func keepList() {
        do throws(KithError) {
            try authority.keepList()
        } catch {
            log("the revocation list of the site's authority is not kept: \(error.message)", key: "site list")
        }
    }

    /// Reads anew what nodes of the site may do, when the configuration has changed. Its other entries count from the next start on.
    private func lookAtGrants() {
        let stamp = FileStamp(of: configurationPath)
        guard stamp != configurationStamp else { return }
        configurationStamp = stamp
        let before = grantsFault
        do throws(KithError) {
            let read = try NodeConfiguration(parsing: try HomeFile.read(configurationPath, bytesMax: 1 << 20))
            guard let new = read.site else {
                throw KithError(
                    .badConfiguration, "config.json speaks of no site any more; that counts from the next start on")
            }
            grantsFault = nil
            guard new != grants else {
                if before != nil { onChange?() }
                return
            }
            let old = book.peers.filter { $0.pairedBy == .site }
            try book.setSiteGrants(access: new.access, databases: new.databases)
            grants = new
            log("what nodes of the site may do was changed in config.json")
            for peer in old { onGrants?(peer) }
        } catch {
            grantsFault = error.message
            log("what config.json says of the site is not in force: \(error.message)", key: "grants")
        }
        onChange?()
    }

    /// What a person should know of the authority.
    ///
    /// - Parameter own: the certificate that this node shows.
    func problems(own: PeerCertificate) -> [NodeStatus.Problem] {
        var problems: [NodeStatus.Problem] = []
        func add(_ code: String, _ subject: String, _ text: String, _ command: String?) {
            problems.append(
                NodeStatus.Problem(code: code, severity: .attention, subject: subject, text: text, command: command))
        }
        let now = WallClock.seconds
        switch authority.judge(own.bytes, seconds: now) {
        case .member(let member):
            if member.validThroughSeconds - now < Int64(TrustLimits.siteCertificateWarnDays) * 86_400 {
                add(
                    "site-certificate", "this node",
                    "its certificate of the site's authority ends on \(WallClock.text(member.validThroughSeconds)); other nodes refuse it then",
                    "kith cert request")
            }
        case .ofAnother:
            add(
                "site-certificate", "this node",
                "has no certificate of the site's authority, so nodes of the site do not let it in", "kith cert request"
            )
        case .refused(let error, _): add("site-certificate", "this node", error.message, "kith cert request")
        }
        if let fault = authority.listFault { add("site-list", "the site", "\(fault); the one before is in force", nil) }
        if let end = authority.listEndsSeconds, end < now {
            add(
                "site-list", "the site",
                "the authority's revocation list ended on \(WallClock.text(end)); it still counts, and newer revocations are missing",
                nil)
        }
        if let grantsFault {
            add("site-grants", "the site", "\(grantsFault); what nodes of it may do stays as it was", nil)
        }
        for (id, error) in refusals {
            guard let peer = book.peer(id) else { continue }
            add("certificate-refused", peer.name, error.message, nil)
        }
        return problems
    }
}
