import COpenSSL
import Glibc
import KithDocuments

/// OpenSSL's part of a site's authority. Not Sendable: `SiteAuthority` keeps it behind a lock.
final class SiteStore {
    private let authority: OpaquePointer
    private var store: OpaquePointer
    private var list: OpaquePointer?
    /// Which file the list is from.
    var stamp: [Int64] = []
    var listFault: String?
    /// The list in force as it was read, PEM.
    private(set) var listBytes: [UInt8]?

    /// - Parameters:
    ///   - list: what is in the folder now; `nil` when nothing is.
    ///   - kept: the list that was in force last. It stays in force where the other one is older or gone.
    init(authority pem: [UInt8], list: [UInt8]?, kept: [UInt8]? = nil) throws(KithError) {
        ERR_clear_error()
        guard let authority = Self.read(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            throw KithError(.badConfiguration, "the authority's file is not a certificate in PEM form")
        }
        guard X509_check_ca(authority) == 1 else {
            X509_free(authority)
            ERR_clear_error()
            throw KithError(
                .badConfiguration,
                "the authority's certificate is none of an authority (basicConstraints CA:TRUE is missing)")
        }
        guard let store = Self.makeStore(authority, nil) else {
            X509_free(authority)
            throw KithError(.internal, "OpenSSL does not take the authority", cause: OpenSSLFailure.take())
        }
        self.authority = authority
        self.store = store
        // One of another authority was kept before this one was put in place.
        if let kept { try? use(list: kept) }
        let isKept = self.list != nil
        guard let list else {
            if isKept { listFault = "the revocation list is gone" }
            return
        }
        do throws(KithError) {
            try use(list: list)
        } catch {
            // Without a list in force nobody would know who is revoked.
            guard isKept else { throw error }
            listFault = error.message
        }
    }

    deinit {
        X509_STORE_free(store)
        X509_CRL_free(list)
        X509_free(authority)
    }

    /// Puts another revocation list in force.
    ///
    /// - Throws: `badConfiguration` when it is not one of this authority, or older than the one in force, which then stays.
    func use(list pem: [UInt8]) throws(KithError) {
        ERR_clear_error()
        guard let new = Self.read(pem, { PEM_read_bio_X509_CRL($0, nil, nil, nil) }) else {
            throw KithError(.badConfiguration, "the revocation list is none in PEM form")
        }
        var problem: String?
        if X509_NAME_cmp(X509_CRL_get_issuer(new), X509_get_subject_name(authority)) != 0
            || X509_CRL_verify(new, X509_get0_pubkey(authority)) != 1
        {
            problem = "the revocation list is not signed by the site's authority"
        } else if let list, Self.isOlder(new, than: list) {
            problem = "the revocation list is older than the one in force"
        }
        ERR_clear_error()
        guard problem == nil, let made = Self.makeStore(authority, new) else {
            X509_CRL_free(new)
            throw KithError(
                .badConfiguration, problem ?? "OpenSSL does not take the revocation list",
                remedy: "Put the authority's newest list there")
        }
        X509_STORE_free(store)
        X509_CRL_free(list)
        store = made
        list = new
        listBytes = pem
    }

    /// By the numbers of both where they have one (RFC 5280, section 5.2.3), which only grow; else by their dates.
    private static func isOlder(_ new: OpaquePointer, than old: OpaquePointer) -> Bool {
        let order = kith_crl_number_order(new, old)
        if order == -1 { return true }
        if order == 1 { return false }
        return ASN1_TIME_compare(X509_CRL_get0_lastUpdate(new), X509_CRL_get0_lastUpdate(old)) < 0
    }

    var listEndsSeconds: Int64? {
        guard let list else { return nil }
        guard let end = X509_CRL_get0_nextUpdate(list) else { return .max }
        return Self.seconds(end) ?? 0
    }

    func judge(_ bytes: [UInt8], seconds: Int64) -> SiteVerdict {
        ERR_clear_error()
        defer { ERR_clear_error() }
        let certificate = bytes.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var start = buffer.baseAddress
            return d2i_X509(nil, &start, buffer.count)
        }
        guard let certificate, let hash = KeyAndCertificate.subjectPublicKeyHash(of: certificate) else {
            X509_free(certificate)
            return .ofAnother
        }
        defer { X509_free(certificate) }
        guard let check = X509_STORE_CTX_new() else { return .ofAnother }
        defer { X509_STORE_CTX_free(check) }
        let id = NodeID(subjectPublicKeyHash: hash)
        let name = KeyAndCertificate.commonName(of: certificate)
        let end = Self.seconds(X509_get0_notAfter(certificate)) ?? 0
        func refused(_ what: String, _ fault: SiteFault, _ remedy: String) -> SiteVerdict {
            .refused(
                KithError(.notTrusted, "the certificate of '\(name)' (\(id.short)) \(what)", remedy: remedy), fault)
        }
        guard X509_STORE_CTX_init(check, store, certificate, nil) == 1,
            X509_STORE_CTX_set_purpose(check, X509_PURPOSE_SSL_CLIENT) == 1
        else { return .ofAnother }
        X509_STORE_CTX_set_time(check, 0, time_t(seconds))
        kith_let_late_lists_pass(check)
        let anew = "Have the site's authority sign a new one: kith cert request, kith cert install"
        guard X509_verify_cert(check) == 1 else {
            let error = X509_STORE_CTX_get_error(check)
            let isOwn = X509_STORE_CTX_get_error_depth(check) == 0
            let now = DateText.utc(seconds)
            switch error {
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
                X509_V_ERR_CERT_SIGNATURE_FAILURE:
                return .ofAnother
            case X509_V_ERR_CERT_HAS_EXPIRED where isOwn:
                return refused("ended on \(DateText.utc(end)); the clock here says \(now)", .expired, anew)
            case X509_V_ERR_CERT_NOT_YET_VALID where isOwn:
                let begin = Self.seconds(X509_get0_notBefore(certificate)) ?? 0
                return refused(
                    "begins on \(DateText.utc(begin)); the clock here says \(now)", .expired,
                    "Set the clock of this machine")
            case X509_V_ERR_CERT_REVOKED:
                return refused("was revoked by the site's authority\(revocationDate(of: certificate))", .revoked, anew)
            default:
                let text = String(cString: X509_verify_cert_error_string(Int(error)))
                let whose = isOwn ? "" : ", of the authority's own certificate"
                return refused("is not good: \(text)\(whose); the clock here says \(now)", .other, anew)
            }
        }
        let isForNodes =
            kith_has_usage(certificate, SiteAuthority.nodeUsage) == 1
            && X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1
            && X509_check_purpose(certificate, X509_PURPOSE_SSL_CLIENT, 0) == 1
        guard isForNodes, X509_check_ca(certificate) == 0 else {
            return refused("is of the site's authority, and not for a node of Kith (extended key usage)", .other, anew)
        }
        guard kith_is_p256(X509_get0_pubkey(certificate)) == 1 else {
            return refused("has a key that is not EC P-256", .other, anew)
        }
        return .member(SiteMember(id: id, name: name, validThroughSeconds: end))
    }

    private func revocationDate(of certificate: OpaquePointer) -> String {
        var entry: OpaquePointer?
        guard let list, X509_CRL_get0_by_cert(list, &entry, certificate) == 1, let entry,
            let seconds = Self.seconds(X509_REVOKED_get0_revocationDate(entry))
        else { return "" }
        return " on \(DateText.utc(seconds))"
    }

    private static func makeStore(_ authority: OpaquePointer, _ list: OpaquePointer?) -> OpaquePointer? {
        guard let store = X509_STORE_new() else { return nil }
        // The authority is the anchor also where it is one that another has signed. The store takes references of its own.
        var flags = UInt(X509_V_FLAG_PARTIAL_CHAIN)
        if list != nil { flags |= UInt(X509_V_FLAG_CRL_CHECK) }
        guard X509_STORE_add_cert(store, authority) == 1, X509_STORE_set_flags(store, flags) == 1,
            list == nil || X509_STORE_add_crl(store, list) == 1
        else {
            X509_STORE_free(store)
            return nil
        }
        return store
    }

    private static func read(_ pem: [UInt8], _ body: (OpaquePointer) -> OpaquePointer?) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(bytes.count)) else { return nil }
            defer { BIO_free(bio) }
            return body(bio)
        }
    }

    private static func seconds(_ value: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var parts = tm()
        guard ASN1_TIME_to_tm(value, &parts) == 1 else { return nil }
        return Int64(timegm(&parts))
    }
}
