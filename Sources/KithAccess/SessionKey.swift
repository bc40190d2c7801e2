import KithDocuments

/// Makes and checks what the cookie of a session says: who, until when, and a seal over both.
///
/// The seal also covers the hash of the user's password, so a new password ends all sessions; the key lives as long as the process,
/// so its end does as well. Nothing is kept for a session.
public struct SessionKey: Sendable {
    private let seal: KeyedHash

    /// - Throws: `.internal` when there is no randomness.
    public init() throws(KithError) { seal = try KeyedHash() }

    /// The value of a cookie for a user who has logged in.
    ///
    /// - Parameters:
    ///   - user: who.
    ///   - now: seconds of a clock that nobody sets, the same as for `user(of:now:in:)`.
    public func cookie(for user: User, now: UInt64) -> String {
        let end = String(now + AccessLimits.sessionSeconds, radix: 16)
        let name = Array(user.name.utf8)
        return
            "\(Hexadecimal.text(name))-\(end)-\(Hexadecimal.text(seal(name, Array(end.utf8), Array(user.password.text.utf8))))"
    }

    /// The user whose session it is; `nil` for one that has ended, or that nobody here made.
    ///
    /// - Parameter find: the user of a name, as the book has it now.
    public func user(of cookie: String, now: UInt64, in find: (String) -> User?) -> User? {
        guard cookie.utf8.count <= 4 * AccessLimits.nameBytesMax else { return nil }
        let parts = cookie.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let name = Hexadecimal.bytes(parts[0]), let end = UInt64(parts[1], radix: 16),
            now < end,
            let sealed = Hexadecimal.bytes(parts[2]), let user = find(String(decoding: name, as: UTF8.self)),
            !user.isDisabled,
            user.name.utf8.elementsEqual(name)
        else { return nil }
        let right = seal(name, Array(parts[1].utf8), Array(user.password.text.utf8))
        return KeyedHash.equal(sealed, right) ? user : nil
    }
}
