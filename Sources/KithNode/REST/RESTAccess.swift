import KithAccess
import KithDocuments
import KithStore
import KithTransport
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
    let logins: RESTLogins
    /// Counts changes of rights.
    var version: UInt64 = 0

    init(registry: DatabaseRegistry, users: UserBook) throws(KithError) {
        self.registry = registry
        logins = try RESTLogins(users: users)
    }

    /// Who makes a request, where he may make it; not asked for the node's owner.
    ///
    /// - Returns: who, and whether he may write design documents.
    /// - Parameters:
    ///   - head: of the request; `RESTGate.refusal` was asked before.
    ///   - path: as the router gets it.
    ///   - caller: whom the connection itself proves.
    ///   - address: where he is, without the port.
    /// - Throws: 401, 403, 404 where there is no such database for him, 429, 503.
    func caller(
        of head: HTTPRequestHead, path: [String], on caller: RESTCaller, address: String
    ) async throws -> (caller: RESTCaller, mayWriteDesignDocuments: Bool) {
        while true {
            let version = self.version
            let found = try await logins.caller(head, address: address) ?? caller
            let access = try await check(found, RESTNeed(method: head.method, path: path))
            if self.version == version { return (found, access == .administer) }
        }
    }

    /// - Returns: what the caller may do with the database that the request is about.
    private func check(_ caller: RESTCaller, _ need: RESTNeed) async throws -> DatabaseAccess {
        if need.right == .everybody { return .none }
        // Guests are not let in, whatever _security says of everybody.
        guard caller != .nobody else { throw Self.unauthorized("Authentication required.") }
        let principal = caller.principal
        guard let name = need.database else {
            if principal.isServerAdministrator { return .administer }
            throw Self.unauthorized("You are not a server admin.")
        }
        let access = try await access(of: principal, to: name)
        let needed: DatabaseAccess =
            switch need.right {
            case .read: .read
            case .write: .write
            case .everybody, .administer, .server: .administer
            }
        guard access < needed else { return access }
        // Who may do nothing with it learns nothing of it, not even that it is there.
        guard access > .none else {
            throw CouchDBError("not_found", KithError(.databaseNotFound, "Database does not exist."))
        }
        throw CouchDBError(
            "forbidden",
            KithError(
                .forbidden,
                needed == .administer
                    ? "You are not a db or server admin." : "You may read this db, and not write to it."))
    }

    private func access(of principal: Principal, to name: DatabaseName) async throws -> DatabaseAccess {
        guard !principal.isServerAdministrator else { return .administer }
        guard let database = registry.find(name) else { return .none }
        let stored = try await database.read { try $0.localDocument(Self.securityName) }
        // One that an older version has kept and that cannot be read says nothing.
        guard let stored, let object = try? JSONValue(parsing: stored).objectValue,
            let rules = try? SecurityRules(object)
        else { return SecurityRules.unsaid.access(of: principal) }
        return rules.access(of: principal)
    }

    static func unauthorized(_ reason: String) -> CouchDBError {
        CouchDBError(
            "unauthorized", status: 401,
            KithError(.forbidden, reason, remedy: "Log in as a user of this node, or use the socket in its home"),
            headers: [("WWW-Authenticate", "Basic realm=\"Kith\"")])
    }
}
