import KithDocuments
import KithTransport
import KithTrust

/// Who is let in: the keys of the book of peers, and nodes that show a good certificate of the site's authority.
///
/// A person's decision comes first: a key that was paired needs no certificate, and one that is revoked is helped by none. It is asked
/// within each handshake, in both directions, and looks at the dates of the authority's certificates alone.
struct TrustDecision: Sendable {
    let book: PeerBook
    let site: SiteAuthority?
    /// Whether a key that was never heard of is no reason to end the handshake: who has it is then as somebody without one.
    var takesStrangers = false

    func verdict(_ certificate: PeerCertificate) -> TLSVerdict {
        let id = NodeID(subjectPublicKeyHash: certificate.publicKeyHash)
        let known = book.peer(id)
        if let known, known.pairedBy != .site { return .trusted }
        let isPassed = known == nil && book.peer(everCalled: id) != nil
        let stranger = KithError(
            .notTrusted, "the node \(id.short) is not trusted here", remedy: "If it is yours: kith trust \(id)")
        let refusal: TLSVerdict =
            known == nil && !isPassed && takesStrangers
            ? .trusted : .refused(known.map { Self.needsCertificate($0) } ?? stranger)
        guard let site, !isPassed else { return refusal }
        switch site.judge(certificate.bytes, seconds: WallClock.seconds) {
        case .member: return .trusted
        case .ofAnother: return refusal
        case .refused(let error, .expired): return .outdated(error)
        case .refused(let error, .revoked): return .revoked(error)
        case .refused(let error, .other): return .refused(error)
        }
    }

    static func needsCertificate(_ peer: Peer) -> KithError {
        KithError(
            .notTrusted,
            "\(peer.name) (\(peer.id.short)) is trusted by a certificate of the site's authority, and shows none",
            remedy: "There: kith cert request, kith cert install; or pair it")
    }
}
