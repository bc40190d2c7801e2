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
    private var verifyingCount = 0
    private var waitingCount = 0
    /// Logins under way, by address.
    private var countsByAddress: [String: Int] = [:]
    private let verifierFree = ChangeSignal()
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
    func caller(_ head: HTTPRequestHead, address: String, readsCookie: Bool) async throws -> RESTCaller? {
        let fields = head.headers.values(of: "Authorization")
        guard let field = fields.first else {
            guard readsCookie, let user = session(head.headers) else { return nil }
            return .user(user.principal)
        }
        guard fields.count == 1, let (name, password) = Self.credentials(field) else {
            throw RESTAccess.unauthorized("The Authorization field is not Basic authentication.")
        }
        return .user(try await logIn(name, password, address: address).principal)
    }

    /// The user whose session a request names by its cookie.
    func session(_ headers: HTTPHeaders) -> User? {
        for field in headers.values(of: "Cookie") {
            for part in field.split(separator: ";") {
                let text = part.drop { $0 == " " }
                guard text.hasPrefix(Self.cookieName + "=") else { continue }
                let value = String(text.dropFirst(Self.cookieName.utf8.count + 1))
                return sessions.user(of: value, now: Self.seconds) { users.user(named: $0) }
            }
        }
        return nil
    }

    /// What a browser is given to keep for a user who has logged in: not for scripts, not without TLS, not from other sites.
    ///
    /// - Parameter isForAnotherOrigin: whether a page of another origin has it made, which may. Then the browser sends it from
    ///   everywhere, and `RESTGate` alone keeps other pages out.
    func cookie(for user: User, isForAnotherOrigin: Bool) -> String {
        Self.cookie(sessions.cookie(for: user, now: Self.seconds), AccessLimits.sessionSeconds, isForAnotherOrigin)
    }

    /// Takes it back.
    static func noCookie(isForAnotherOrigin: Bool) -> String { cookie("", 0, isForAnotherOrigin) }

    private static func cookie(_ value: String, _ seconds: UInt64, _ isForAnotherOrigin: Bool) -> String {
        "\(cookieName)=\(value); Version=1; Path=/; HttpOnly; Secure; "
            + "SameSite=\(isForAnotherOrigin ? "None" : "Strict"); Max-Age=\(seconds)"
    }

    /// Verifies a name and a password. The time of the answer does not tell whether there is such a user.
    ///
    /// - Throws: 401, 429 for an address with too many failures, 503 where too many others wait.
    func logIn(_ name: String, _ password: [UInt8], address: String) async throws -> User {
        let before = users.user(named: name)
        // First: else who waits could still try whether a password is the one that was right a moment ago.
        try checkThrottle(address)
        if let before, !before.isDisabled, verified.has(before, password, now: Self.seconds) { return before }
        guard waitingCount < NodeLimits.loginsWaitingMax,
            countsByAddress[address, default: 0] < NodeLimits.loginsPerAddressMax
        else { throw KithError(.busy, "too many others are logging in", remedy: "Try again in a moment") }
        countsByAddress[address, default: 0] += 1
        defer {
            countsByAddress[address, default: 1] -= 1
            if countsByAddress[address] == 0 { countsByAddress[address] = nil }
        }
        waitingCount += 1
        while verifyingCount >= AccessLimits.verificationsAtOnceMax { await verifierFree.wait(secondsMax: 60) }
        waitingCount -= 1
        // Whoever asks many times at once is not let through by that.
        try checkThrottle(address)
        // A client with several connections has it verified once.
        if let now = users.user(named: name), !now.isDisabled, verified.has(now, password, now: Self.seconds) {
            return now
        }
        verifyingCount += 1
        let hash = before?.password ?? .ofNobody
        let isRight = await EventLoop.beside { hash.verifies(password) }
        verifyingCount -= 1
        verifierFree.signal()
        // It may have been changed meanwhile.
        guard isRight, let user = users.user(named: name), !user.isDisabled, user.password == hash else {
            throttle.noteFailure(of: address, now: Self.exactSeconds)
            onFailure?(address)
            throw CouchDBError(
                "unauthorized", status: 401, KithError(.forbidden, "Name or password is incorrect."),
                headers: [("WWW-Authenticate", "Basic realm=\"Kith\"")])
        }
        // Failures of the address are not forgotten: one right password would buy more guesses at another.
        verified.note(user, password, now: Self.seconds)
        return user
    }

    private func checkThrottle(_ address: String) throws(CouchDBError) {
        let wait = throttle.wait(of: address, now: Self.exactSeconds)
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

    /// Of a clock that nobody sets.
    private static var seconds: UInt64 { EventLoop.monotonicNanoseconds / 1_000_000_000 }
    private static var exactSeconds: Double { Double(EventLoop.monotonicNanoseconds) / 1e9 }
}
