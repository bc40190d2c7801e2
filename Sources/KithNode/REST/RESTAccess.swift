import KithAccess
import KithDocuments
import KithStore
import KithTransport
import KithTrust
import KithWire

/// Decides who makes a request, and whether he may: before anything of its body is taken.
///
/// A right that is taken back takes effect at once: `version` counts up, which a decision under way notices, and what
/// others have under way is cut (`Node.rightsChanged`).
@LoopActor
final class RESTAccess {
    /// Where `_security` lies, beside local documents: no name of one is like it.
    nonisolated static let securityName = "security"

    private let registry: DatabaseRegistry
    private let links: LinkManager
    private let letsGuestsIn: Bool
    let logins: RESTLogins
    /// Counts changes of rights.
    private(set) var version: UInt64 = 0
    /// What `_security` says, as it was read since rights have changed last: each database that is open has one.
    private var rules: [DatabaseName: SecurityRules] = [:]

    /// - Parameters:
    ///   - links: who knows what peers may do.
    ///   - letsGuestsIn: whether, on the network, somebody who has not logged in may do what everybody may.
    init(registry: DatabaseRegistry, links: LinkManager, users: UserBook, letsGuestsIn: Bool) throws(KithError) {
        self.registry = registry
        self.links = links
        self.letsGuestsIn = letsGuestsIn
        logins = try RESTLogins(users: users)
    }

    /// Who makes a request, where he may make it; not asked where the gate is the owner's.
    ///
    /// - Parameters:
    ///   - head: of the request.
    ///   - path: as the router gets it.
    ///   - gate: where it came in.
    ///   - passage: what the gate has said of it.
    ///   - place: where he is.
    /// - Throws: 401, 403, 404 where there is no such database for him, 429, 503.
    func permit(
        _ head: HTTPRequestHead, path: [String], gate: RESTGate, passage: RESTPassage, place: ClientPlace
    ) async throws -> RESTPermit {
        while true {
            let version = self.version
            let proof = try await logins.caller(head, place: place, readsCookie: passage.countsBrowserProof)
            let user = proof.map { RESTCaller.user($0.user.principal) }
            let shown = passage.countsBrowserProof ? gate.caller : .nobody
            let isGuest = shown == .nobody && gate.door == .network && letsGuestsIn
            let caller = user ?? (isGuest ? .guest : shown)
            let need = RESTNeed(method: head.method, path: path)
            let access = try await check(caller, need, gate.door)
            if self.version == version {
                var permit = RESTPermit(caller: caller, mayWriteDesignDocuments: access == .administer)
                permit.isForEverybody = need.right == .everybody
                permit.database = need.database
                permit.isByPassword = proof != nil && proof?.session == nil
                // `_session` says itself what becomes of the cookie.
                if let session = proof?.session, !permit.isForEverybody {
                    permit.cookie = logins.prolonged(session, isForAnotherOrigin: passage.isOfAnotherOrigin)
                }
                return permit
            }
        }
    }

    /// Rights have changed: what is being decided on is decided anew.
    func rightsChanged() {
        version += 1
        rules = [:]
    }

    /// - Returns: what the caller may do with the database that the request is about.
    private func check(_ caller: RESTCaller, _ need: RESTNeed, _ door: RESTGate.Door) async throws -> DatabaseAccess {
        if need.right == .everybody { return .none }
        // Guests are not let in unless somebody has said so, whatever _security says of everybody.
        guard caller != .nobody else { throw Self.unauthorized("Authentication required.") }
        let isAdministrator = caller.principal.isServerAdministrator
        guard let name = need.database else {
            guard isAdministrator else { throw Self.unauthorized("You are not a server admin.") }
            guard door != .network else {
                throw Self.forbidden(
                    "the node is not administered on this port", "Use the socket in its home, or kith up --admin-port")
            }
            return .administer
        }
        let access: DatabaseAccess
        if case .peer(let id) = caller {
            access = try self.access(of: id, to: name, need.right)
        } else {
            access = try await self.access(of: caller.principal, to: name)
        }
        let needed: DatabaseAccess =
            switch need.right {
            case .read: .read
            case .write, .copy: .write
            case .everybody, .administer, .server: .administer
            }
        guard access < needed else { return access }
        // It may be there for somebody who logs in.
        guard caller != .guest else { throw Self.unauthorized("You are not authorized to access this db.") }
        // Who may do nothing with it learns nothing of it, not even that it is there.
        guard access > .none else { throw Self.noDatabase }
        throw Self.forbidden(
            needed == .administer ? "You are not a db or server admin." : "You may read this db, and not write to it.")
    }

    /// What a peer may do, as the book has it for replication. What it may not, or not wholly, be sent is not read here either.
    private func access(of id: NodeID, to name: DatabaseName, _ right: RESTRight) throws -> DatabaseAccess {
        let key = LinkKey(peer: id, database: name)
        let granted = links.access(key)
        guard registry.find(name) != nil, granted != .noAccess else { return .none }
        // What is copied is read, and goes to whom the copy's ID lets it.
        if right == .write, granted != .read { return .write }
        guard granted != .write else { throw Self.forbidden("You may write to this db, and not read it.") }
        guard links.filter(key) == nil else {
            throw Self.forbidden("an app decides which documents of this db go to you", "Replicate it")
        }
        return granted == .both ? .write : .read
    }

    private func access(of principal: Principal, to name: DatabaseName) async throws -> DatabaseAccess {
        guard !principal.isServerAdministrator else { return .administer }
        guard let database = registry.find(name) else { return .none }
        if let known = rules[name] { return known.access(of: principal) }
        let version = self.version
        let rules = try await database.read { Self.rules(try $0.localDocument(Self.securityName)) }
        if self.version == version { self.rules[name] = rules }
        return rules.access(of: principal)
    }

    /// What a stored `_security` says. One that an older version has kept and that cannot be read, or is too long, says nothing.
    private nonisolated static func rules(_ stored: [UInt8]?) -> SecurityRules {
        guard let stored, stored.count <= NodeLimits.securityBytesMax,
            let object = try? JSONValue(parsing: stored).objectValue, let rules = try? SecurityRules(object)
        else { return .unsaid }
        return rules
    }

    private static var noDatabase: CouchDBError {
        CouchDBError("not_found", KithError(.databaseNotFound, "Database does not exist."))
    }

    private static func forbidden(_ reason: String, _ remedy: String? = nil) -> CouchDBError {
        CouchDBError("forbidden", KithError(.forbidden, reason, remedy: remedy))
    }

    static func unauthorized(_ reason: String) -> CouchDBError {
        CouchDBError(
            "unauthorized", status: 401,
            KithError(.forbidden, reason, remedy: "Log in as a user of this node, or use the socket in its home"),
            headers: [("WWW-Authenticate", "Basic realm=\"Kith\"")])
    }
}
