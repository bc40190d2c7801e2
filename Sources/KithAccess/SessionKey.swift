import KithDocuments

/// Makes and checks what the cookie of a session says: who, since when, until when, and a seal over all three.
///
/// The seal also covers the hash of the user's password, so a new password ends all sessions; the key lives as long as the process,
/// so its end does as well. Nothing is kept for a session.
public struct SessionKey: Sendable {
    private let seal: KeyedHash

    /// - Throws: `.internal` when there is no randomness.
    public init() throws(KithError) { seal = try KeyedHash() }

    /// The value of its cookie.
    public func cookie(for session: UserSession) -> String {
        let times = Self.times(session.begin, session.end)
        let name = Array(session.user.name.utf8)
        return "\(Hexadecimal.text(name))-\(times)-\(Hexadecimal.text(seal(session.user, times)))"
    }

    /// The session of a cookie; `nil` for one that has ended, or that nobody here made.
    ///
    /// - Parameters:
    ///   - now: seconds of the clock that `UserSession` was begun by.
    ///   - find: the user of a name, as the book has it now.
    public func session(of cookie: String, now: UInt64, in find: (String) -> User?) -> UserSession? {
        guard cookie.utf8.count <= 4 * AccessLimits.nameBytesMax else { return nil }
        let parts = cookie.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, let name = Hexadecimal.bytes(parts[0]), let begin = UInt64(parts[1], radix: 16),
            let end = UInt64(parts[2], radix: 16), now < end, let sealed = Hexadecimal.bytes(parts[3]),
            let user = find(String(decoding: name, as: UTF8.self)), !user.isDisabled, user.name.utf8.elementsEqual(name)
        else { return nil }
        guard KeyedHash.equal(sealed, seal(user, "\(parts[1])-\(parts[2])")) else { return nil }
        return UserSession(user: user, begin: begin, end: end)
    }

    private static func times(_ begin: UInt64, _ end: UInt64) -> String {
        String(begin, radix: 16) + "-" + String(end, radix: 16)
    }

    private func seal(_ user: User, _ times: String) -> [UInt8] {
        seal(Array(user.name.utf8), Array(times.utf8), Array(user.password.text.utf8))
    }
}
