import KithAccess
import KithDocuments
import KithTransport
import KithWire

/// Finds out which user makes a request: by name and password (Basic, RFC 7617), or by the cookie of a session.
@LoopActor
final class RESTLogins {
    nonisolated static let cookieName = "AuthSession"

    private let users: UserBook
    private let sessions: SessionKey
    private var verified: VerifiedCredentials
    private var throttle = LoginThrottle()
    /// By networks of which one machine may have every address.
    private var networkThrottle = LoginThrottle(freeFailures: AccessLimits.networkFreeFailures)
    /// Where all hashing of passwords waits.
    let queue = PasswordQueue()
    /// Called with the address of a wrong name or password.
    var onFailure: ((_ address: String) -> Void)?

    init(users: UserBook) throws(KithError) {
        self.users = users
        sessions = try SessionKey()
        verified = try VerifiedCredentials()
    }

    /// The user whom a request names and proves; nil where it names none, or one whose session has ended.
    ///
    /// - Parameter readsCookie: whether the cookie proves anything.
    /// - Throws: 401 for a wrong name or password, 429 for an address with too many of them, 503.
    func caller(
        _ head: HTTPRequestHead, place: ClientPlace, readsCookie: Bool
    ) async throws -> (user: User, session: UserSession?)? {
        let fields = head.headers.values(of: "Authorization")
        guard let field = fields.first else {
            guard readsCookie, let session = session(head.headers) else { return nil }
            return (session.user, session)
        }
        guard fields.count == 1, let (name, password) = Self.credentials(field) else {
            throw RESTAccess.unauthorized("The Authorization field is not Basic authentication.")
        }
        return (try await logIn(name, password, place: place), nil)
    }

    /// The session that a request names by its cookie. Another server of this name can have set one as well: the first that is good
    /// here counts.
    func session(_ headers: HTTPHeaders) -> UserSession? {
        var tried = 0
        for field in headers.values(of: "Cookie") {
            for part in field.split(separator: ";") {
                let text = part.drop { $0 == " " }
                guard text.hasPrefix(Self.cookieName + "="), tried < Self.cookiesTriedMax else { continue }
                tried += 1
                let value = String(text.dropFirst(Self.cookieName.utf8.count + 1))
                if let session = sessions.session(of: value, now: Self.seconds, in: { users.user(named: $0) }) {
                    return session
                }
            }
        }
        return nil
    }

    /// What a browser is given to keep for a user who has logged in: not for scripts, not without TLS, not from other sites.
    ///
    /// - Parameter isForAnotherOrigin: whether a page of another origin has it made, which may. Then the browser sends it from
    ///   everywhere, and `RESTGate` alone keeps other pages out.
    func cookie(for user: User, isForAnotherOrigin: Bool) -> String {
        cookie(UserSession(of: user, now: Self.seconds), isForAnotherOrigin)
    }

    /// The cookie of a session that has used some of its time, with more of it.
    func prolonged(_ session: UserSession, isForAnotherOrigin: Bool) -> String? {
        session.prolonged(now: Self.seconds).map { cookie($0, isForAnotherOrigin) }
    }

    private func cookie(_ session: UserSession, _ isForAnotherOrigin: Bool) -> String {
        Self.cookie(sessions.cookie(for: session), session.end - Self.seconds, isForAnotherOrigin)
    }

    /// Takes it back.
    static func noCookie(isForAnotherOrigin: Bool) -> String { cookie("", 0, isForAnotherOrigin) }

    private static func cookie(_ value: String, _ seconds: UInt64, _ isForAnotherOrigin: Bool) -> String {
        "\(cookieName)=\(value); Version=1; Path=/; HttpOnly; Secure; "
            + "SameSite=\(isForAnotherOrigin ? "None; Partitioned" : "Strict"); Max-Age=\(seconds)"
    }

    /// Verifies a name and a password. The time of the answer does not tell whether there is such a user.
    ///
    /// - Throws: 401, 429 for an address with too many failures, 503 where too many others wait.
    func logIn(_ name: String, _ password: [UInt8], place: ClientPlace) async throws -> User {
        let before = users.user(named: name)
        // First: else who waits could still try whether a password is the one that was right a moment ago.
        try checkThrottle(place, name)
        if let before, !before.isDisabled, verified.has(before, password, now: Self.seconds) { return before }
        let hash = before?.password ?? .ofNobody
        let isRight = try await queue.run(
            for: place.host,
            unless: {
                // Whoever asks many times at once is not let through by that.
                try checkThrottle(place, name)
                // A client with several connections has it verified once.
                guard let now = users.user(named: name), !now.isDisabled, now.password == hash else { return nil }
                return verified.has(now, password, now: Self.seconds) ? true : nil
            }, work: { hash.verifies(password) })
        // It may have been changed meanwhile.
        guard isRight, let user = users.user(named: name), !user.isDisabled, user.password == hash else {
            let now = Self.exactSeconds
            throttle.noteFailure(of: place.host, as: name, now: now)
            if place.network != place.host { networkThrottle.noteFailure(of: place.network, as: name, now: now) }
            onFailure?(place.host)
            throw CouchDBError(
                "unauthorized", status: 401, KithError(.forbidden, "Name or password is incorrect."),
                headers: [("WWW-Authenticate", "Basic realm=\"Kith\"")])
        }
        // Failures of the address are not forgotten: one right password would buy more guesses at another.
        verified.note(user, password, now: Self.seconds)
        return user
    }

    private func checkThrottle(_ place: ClientPlace, _ name: String) throws(CouchDBError) {
        let now = Self.exactSeconds
        var wait = throttle.wait(of: place.host, as: name, now: now)
        if place.network != place.host { wait = max(wait, networkThrottle.wait(of: place.network, as: name, now: now)) }
        guard wait > 0 else { return }
        throw CouchDBError(
            "too_many_requests", status: 429,
            KithError(.busy, "There were too many wrong passwords from this address.", remedy: "Wait, and try again"),
            headers: [("Retry-After", String(Int(wait.rounded(.up))))])
    }

    /// A name and a password as Basic has them.
    nonisolated static func credentials(_ field: String) -> (name: String, password: [UInt8])? {
        let bytes = Array(field.utf8)
        guard bytes.count > 6, HTTPHeaders.isSame(String(decoding: bytes[..<6], as: UTF8.self), "Basic "),
            let plain = Base64.decode(String(decoding: bytes[6...].drop { $0 == 0x20 }, as: UTF8.self)),
            let colon = plain.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        guard let name = String(validating: plain[..<colon], as: UTF8.self) else { return nil }
        return (name, Array(plain[(colon + 1)...]))
    }

    /// Of a clock that nobody sets, and that goes on while the machine sleeps.
    private static var seconds: UInt64 { EventLoop.bootNanoseconds / 1_000_000_000 }
    private static var exactSeconds: Double { Double(EventLoop.bootNanoseconds) / 1e9 }
    /// Cookies of one request that are looked at.
    private static let cookiesTriedMax = 4
}
