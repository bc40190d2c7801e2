import COpenSSL
import Glibc
import KithDocuments
import Synchronization

/// A site's own certificate authority: decides which certificates are of nodes of the site.
///
/// ```swift
/// let site = try SiteAuthority(folder: home + "/site")
/// if case .member(let node) = site.judge(certificate, seconds: now) { … }
/// ```
///
/// The folder holds `ca.pem`, and `crl.pem` where the authority has a list of what it has revoked; the newest list that was in force is
/// kept beside it, so that an older one, or none, does not take its place at the next start. A node's certificate is signed
/// by the authority itself, is for TLS on both sides and for Kith (`nodeUsage`), is no authority's, has a P-256 key, and is valid now
/// (RFC 5280, section 6). May be asked from any thread; it does not wait for anything but the check itself.
public final class SiteAuthority: Sendable {
    /// The extended key usage that a node's certificate must have, so that no other certificate of the same authority gets in:
    /// an identifier made from a UUID (ITU-T X.667).
    public static let nodeUsage = "2.25.90691807680399579271162458693198045134"
    /// The name of the authority's certificate in the folder.
    public static let certificateFileName = "ca.pem"
    /// The name of the authority's revocation list in the folder.
    public static let listFileName = "crl.pem"
    /// The name of the copy of the list that was in force last, which the node makes: an older one is not taken after it.
    public static let keptListFileName = "crl.kept.pem"

    private let folder: String
    private let state: Mutex<SiteStore>

    /// Reads the authority and its list.
    ///
    /// - Throws: `badConfiguration` when `ca.pem` is missing or no authority's certificate, when the list is not of this authority and
    ///   none is kept, or when others may write to a file; `damaged`, `inputOutput`.
    public init(folder: String) throws(KithError) {
        self.folder = folder
        let path = folder + "/" + Self.certificateFileName
        guard let ca = try Self.read(path, bytesMax: TrustLimits.pemFileBytesMax) else {
            throw KithError(
                .badConfiguration, "\(path) is missing, and the configuration speaks of a site",
                remedy: "Put the authority's certificate there, or remove \"site\" from config.json")
        }
        let list = try Self.read(folder + "/" + Self.listFileName, bytesMax: TrustLimits.siteListBytesMax)
        let kept = try Self.read(folder + "/" + Self.keptListFileName, bytesMax: TrustLimits.siteListBytesMax)
        let store = try SiteStore(authority: ca, list: list, kept: kept)
        store.stamp = Self.stamp(of: folder)
        state = Mutex(store)
    }

    /// Until when the revocation list is good, in seconds since 1970; `nil` where there is no list. A list whose time is over still
    /// counts.
    public var listEndsSeconds: Int64? { state.withLock { $0.listEndsSeconds } }

    /// Why the list that is in the folder now is not used, and the one before still is.
    public var listFault: String? { state.withLock { $0.listFault } }

    /// Looks whether the revocation list has changed, and reads it then. One that cannot be used, or is older than the one in use, is
    /// passed over; one that is gone stays in force.
    ///
    /// - Returns: whether another list is in force now, or something else is to be said of it.
    public func refresh() -> Bool {
        let now = Self.stamp(of: folder)
        guard state.withLock({ $0.stamp != now }) else { return false }
        var list: [UInt8]?
        var fault: String?
        do throws(KithError) {
            list = try Self.read(folder + "/" + Self.listFileName, bytesMax: TrustLimits.siteListBytesMax)
            if list == nil { fault = "the revocation list is gone" }
        } catch {
            fault = error.message
        }
        let (bytes, before) = (list, fault)
        state.withLock { store in
            store.stamp = now
            store.listFault = before
            guard let bytes else { return }
            do throws(KithError) { try store.use(list: bytes) } catch { store.listFault = error.message }
        }
        return true
    }

    /// Keeps the list that is in force, durably, unless it is kept already.
    ///
    /// - Throws: errors of the disk.
    public func keepList() throws(KithError) {
        guard let list = state.withLock({ $0.listBytes }) else { return }
        let path = folder + "/" + Self.keptListFileName
        guard try Self.read(path, bytesMax: TrustLimits.siteListBytesMax) != list else { return }
        try list.withUnsafeBufferPointer { bytes throws(KithError) in
            try PrivateFiles.replace(path, UnsafeRawBufferPointer(bytes))
        }
    }

    /// Judges a certificate.
    ///
    /// - Parameters:
    ///   - certificate: in DER form, as it was shown; that the other side has its key is for TLS to prove.
    ///   - seconds: now, since 1970.
    public func judge(_ certificate: [UInt8], seconds: Int64) -> SiteVerdict {
        state.withLock { $0.judge(certificate, seconds: seconds) }
    }

    private static func read(_ path: String, bytesMax: Int) throws(KithError) -> [UInt8]? {
        try PrivateFiles.read(path, bytesMax: bytesMax, forbiddenMode: 0o022, remedyMode: "644") {
            bytes throws(KithError) in [UInt8](bytes)
        }
    }

    /// Tells one content of the list from another.
    private static func stamp(of folder: String) -> [Int64] {
        var info = stat()
        guard stat(folder + "/" + listFileName, &info) == 0 else { return [] }
        return [
            Int64(info.st_size), Int64(info.st_mtim.tv_sec), Int64(info.st_mtim.tv_nsec),
            Int64(bitPattern: UInt64(info.st_ino)),
        ]
    }
}
