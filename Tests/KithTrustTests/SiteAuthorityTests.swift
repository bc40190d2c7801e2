import Glibc
import KithDocuments
import Testing

@testable import KithTrust

/// Certificates are made by `certs/site`, as an operator makes them.
@Suite("A site's own authority")
struct SiteAuthorityTests {
    private let folder = TemporaryFolder()
    private var now: Int64 { Int64(time(nil)) }

    private func shell(_ command: String) throws {
        let script = #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/certs/site"
        try #require(
            system("cd '\(folder.path)' && site='/\(script)' && { \(command); } > log 2>&1") == 0, "\(command)")
    }

    private func text(_ name: String) throws -> [UInt8] {
        try #require(
            try PrivateFiles.read(folder.path + "/" + name, bytesMax: 1 << 20, forbiddenMode: 0, remedyMode: "") {
                (bytes) throws(KithError) in [UInt8](bytes)
            })
    }

    /// A certificate's DER form.
    private func der(_ name: String) throws -> [UInt8] {
        let lines = String(decoding: try text(name), as: UTF8.self).split(separator: "\n")
        return try #require(Base64.decode(lines.filter { !$0.hasPrefix("-----") }.joined()))
    }

    private func refusal(_ verdict: SiteVerdict) -> (text: String, fault: SiteFault)? {
        guard case .refused(let error, let fault) = verdict else { return nil }
        return (error.message, fault)
    }

    private func isMember(_ verdict: SiteVerdict) -> Bool { if case .member = verdict { true } else { false } }

    private func isOfAnother(_ verdict: SiteVerdict) -> Bool { if case .ofAnother = verdict { true } else { false } }

    @Test("lets in what it has signed for nodes, in its time, and says why and when where it does not")
    func members() throws {
        try shell(
            """
            $site ca ca Clinic; $site ca other Clinic; $site node ca laptop laptop; $site node other laptop stranger
            mkdir site; cp ca/ca.pem site
            openssl req -new -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout web.key -subj /CN=web \
            -CA ca/ca.pem -CAkey ca/ca.key -addext extendedKeyUsage=serverAuth,clientAuth \
            -addext basicConstraints=critical,CA:FALSE -out web.pem
            """)
        let site = try SiteAuthority(folder: folder.path + "/site")
        let laptop = try der("laptop/certificate.pem")
        guard case .member(let member) = site.judge(laptop, seconds: now) else {
            Issue.record("not let in: \(site.judge(laptop, seconds: now))")
            return
        }
        #expect(member.name == "laptop")
        // Another authority of the same name, the authority itself as a node, one of a web server, and no certificate.
        let stranger = site.judge(try der("stranger/certificate.pem"), seconds: now)
        #expect(isOfAnother(stranger))
        let authority = site.judge(try der("ca/ca.pem"), seconds: now)
        #expect(!isMember(authority))
        let web = refusal(site.judge(try der("web.pem"), seconds: now))
        #expect(web?.text.contains("not for a node") == true)
        #expect(web?.text.contains("'web'") == true)
        #expect(isOfAnother(site.judge(Array(laptop.dropLast()), seconds: now)))
        #expect(isOfAnother(site.judge([], seconds: now)))
        // Of these certificates the dates count.
        let late = refusal(site.judge(laptop, seconds: member.validThroughSeconds + 1))
        #expect(late?.fault == .expired)
        #expect(late?.text.contains("ended on 20") == true)
        #expect(late?.text.contains(member.id.short) == true)
        let early = refusal(site.judge(laptop, seconds: 0))
        #expect(early?.text.contains("clock here says 1970-01-01") == true)
        #expect(isMember(site.judge(laptop, seconds: member.validThroughSeconds - 1)))
    }

    @Test("keeps to its revocation list: a new one at once, an old, foreign or broken one never, an ended one still")
    func list() throws {
        try shell(
            """
            $site ca ca Clinic; $site ca other Clinic; $site node ca laptop laptop; $site node ca desk desk
            mkdir site; cp ca/ca.pem site; $site list ca > first.pem; $site list other > foreign.pem
            cp foreign.pem site/crl.pem
            """)
        // At the start a list that is not good is an error: nobody would know who is revoked.
        #expect(throws: KithError.self) { _ = try SiteAuthority(folder: folder.path + "/site") }
        try shell("cp first.pem site/crl.pem")
        let site = try SiteAuthority(folder: folder.path + "/site")
        let laptop = try der("laptop/certificate.pem")
        let desk = try der("desk/certificate.pem")
        #expect(isMember(site.judge(laptop, seconds: now)))
        #expect(!site.refresh())
        try shell(
            "$site revoke ca laptop/certificate.pem > second.pem; cp second.pem site/new; mv site/new site/crl.pem")
        #expect(site.refresh())
        #expect(site.listFault == nil)
        let revoked = refusal(site.judge(laptop, seconds: now))
        #expect(revoked?.fault == .revoked)
        #expect(revoked?.text.contains("revoked by the site's authority on 20") == true)
        #expect(isMember(site.judge(desk, seconds: now)))
        for bad in ["cp foreign.pem site/crl.pem", "echo x > site/crl.pem", "rm site/crl.pem"] {
            try shell(bad)
            #expect(site.refresh())
            #expect(site.listFault != nil, "\(bad)")
            #expect(refusal(site.judge(laptop, seconds: now))?.fault == .revoked, "\(bad)")
        }
        // Sixty days later its time is over: it still says who is revoked, and the others stay.
        let end = try #require(site.listEndsSeconds)
        #expect(end > now)
        #expect(refusal(site.judge(laptop, seconds: end + 86_400))?.fault == .revoked)
        #expect(isMember(site.judge(desk, seconds: end + 86_400)))
    }

    @Test(
        "an older list is not taken after a restart either, nor none; what another authority said before is over")
    func keptList() throws {
        try shell(
            """
            $site ca ca Clinic; $site node ca laptop laptop; mkdir site; cp ca/ca.pem site; $site list ca > first.pem
            $site revoke ca laptop/certificate.pem > second.pem; cp second.pem site/crl.pem
            """)
        let laptop = try der("laptop/certificate.pem")
        try SiteAuthority(folder: folder.path + "/site").keepList()
        for (now, fault) in [
            ("cp first.pem site/crl.pem", "older"), ("rm site/crl.pem", "gone"), ("echo x > site/crl.pem", "PEM"),
        ] {
            try shell(now)
            let site = try SiteAuthority(folder: folder.path + "/site")
            #expect(site.listFault?.contains(fault) == true, "\(fault): \(site.listFault ?? "")")
            #expect(refusal(site.judge(laptop, seconds: self.now))?.fault == .revoked, "\(fault)")
        }
        // One with a higher number is taken.
        try shell(
            """
            mv ca/crlnumber ca/n; echo 99 > ca/crlnumber; $site list ca > third.pem; mv ca/n ca/crlnumber
            cp third.pem site/crl.pem
            """)
        let site = try SiteAuthority(folder: folder.path + "/site")
        #expect(site.listFault == nil)
        try site.keepList()
        // Another authority is put in place: what the one before has said is over.
        try shell("$site ca other Clinic; cp other/ca.pem site; rm site/crl.pem")
        let other = try SiteAuthority(folder: folder.path + "/site")
        #expect(other.listFault == nil && other.listEndsSeconds == nil)
    }

    @Test("a node's key stays where it is: a request goes out, a certificate of the same key comes back")
    func request() throws {
        let identity = try NodeIdentity.create(inFolder: folder.path + "/identity", name: "küche / 1")
        let request = try identity.certificateRequest(name: "küche / 1")
        TemporaryFolder.write(folder.path + "/csr", request)
        try shell(
            "$site ca ca Clinic; $site sign ca csr > signed.pem; $site node ca x x; mkdir site; cp ca/ca.pem site")
        #expect(throws: KithError.self) {
            _ = try NodeIdentity.install(
                certificate: try text("x/certificate.pem"), inFolder: folder.path + "/identity")
        }
        let signed = try NodeIdentity.install(
            certificate: try text("signed.pem"), inFolder: folder.path + "/identity")
        #expect(signed.nodeID == identity.nodeID)
        #expect(signed.certificateName == "küche / 1")
        #expect(!signed.isSelfSigned)
        let site = try SiteAuthority(folder: folder.path + "/site")
        #expect(isMember(site.judge(try der("signed.pem"), seconds: now)))
        let made = try NodeIdentity.adopt(
            keyPath: folder.path + "/x/key.pem", certificatePath: folder.path + "/x/certificate.pem",
            inFolder: folder.path + "/other")
        #expect(made.certificateName == "x")
    }

    @Test("in the book a person's decision comes first, and who is of the site has no say over others")
    func book() throws {
        let book = try PeerBook(path: folder.path + "/peers.json")
        func member(_ byte: UInt8, _ name: String) -> SiteMember {
            SiteMember(
                id: NodeID(subjectPublicKeyHash: Array(repeating: byte, count: 32)), name: name, validThroughSeconds: 0)
        }
        let notes = try DatabaseName("notes")
        let laptop = try book.admit(member(1, "laptop"), access: .noAccess, databases: [notes: .read])
        #expect(laptop.pairedBy == .site)
        #expect(laptop.access(to: notes) == .read)
        #expect(laptop.access(to: try DatabaseName("photos")) == .noAccess)
        #expect(!book.contents.withLock { $0.mayRevoke(laptop.id) })
        // Of the same name: told apart.
        #expect(try book.admit(member(2, "laptop"), access: .both, databases: [:]).name.hasPrefix("laptop "))
        // What the configuration says later counts for all of them.
        try book.setSiteGrants(access: .both, databases: [:])
        #expect(book.peer(laptop.id)?.access(to: notes) == .both)
        #expect(try PeerBook(path: folder.path + "/peers.json").peers == book.peers)
        // Paired by a person: the authority does not matter any more.
        try book.add(laptop.id, name: "laptop", method: .number)
        #expect(book.peer(laptop.id)?.pairedBy == .number)
        #expect(try book.admit(member(1, "laptop"), access: .noAccess, databases: [:]).pairedBy == .number)
        // Revoked by a person: no certificate helps.
        let identity = try NodeIdentity.create(inFolder: folder.path + "/identity", name: "a")
        try book.revoke(laptop.id, reason: "", identity: identity, seconds: 1)
        let error = #expect(throws: KithError.self) {
            try book.admit(member(1, "laptop"), access: .both, databases: [:])
        }
        #expect(error?.code == .notTrusted)
        #expect(book.peer(laptop.id) == nil)
    }
}
