import COpenSSL
import KithDocuments

/// What is kept of a password: scrypt (RFC 7914) with a salt of its own, and what it was made with.
///
/// scrypt is the best that OpenSSL 3.0 has: Argon2 came with 3.2. Its text names the method, so that another can follow.
public struct PasswordHash: Hashable, Sendable {
    /// What making one costs: `N` = 2^`logN` blocks of 128 · `r` bytes, `p` times.
    struct Cost: Hashable, Sendable {
        var logN: Int
        var r: Int
        var p: Int

        /// 32 MiB for about a quarter of a second: what OWASP's Password Storage Cheat Sheet has as equal to its first choice.
        static let usual = Cost(logN: 15, r: 8, p: 3)

        var memoryBytes: UInt64 { 128 * UInt64(r) << UInt64(logN) }

        /// Whether a file may ask for it: what is read must not be able to use up this machine.
        var isBounded: Bool {
            1...20 ~= logN && 1...16 ~= r && 1...16 ~= p && memoryBytes <= 128 << 20
        }
    }

    static let saltByteCount = 16
    static let keyByteCount = 32

    let cost: Cost
    let salt: [UInt8]
    let key: [UInt8]

    /// Hashes a new password. It takes a quarter of a second: not for an event loop.
    ///
    /// - Parameter password: its bytes as they are typed, UTF-8, of `AccessLimits.passwordBytesMin` to `passwordBytesMax`.
    /// - Throws: `.badRequest` for one that is too short or too long; `.internal` when OpenSSL has no memory.
    public init(password: [UInt8]) throws(KithError) { try self.init(password: password, cost: .usual) }

    init(password: [UInt8], cost: Cost) throws(KithError) {
        guard password.count >= AccessLimits.passwordBytesMin else {
            throw KithError(
                .badRequest, "a password has at least \(AccessLimits.passwordBytesMin) bytes",
                remedy: "Take a longer one")
        }
        guard password.count <= AccessLimits.passwordBytesMax else {
            throw KithError(.badRequest, "a password has at most \(AccessLimits.passwordBytesMax) bytes")
        }
        var salt = [UInt8](repeating: 0, count: Self.saltByteCount)
        guard RAND_bytes(&salt, Int32(salt.count)) == 1 else { throw Self.failed() }
        guard let key = Self.derive(password, salt, cost) else { throw Self.failed() }
        (self.cost, self.salt, self.key) = (cost, salt, key)
    }

    /// Whether this is the password. It takes a quarter of a second, whatever the answer: not for an event loop.
    public func verifies(_ password: [UInt8]) -> Bool {
        guard password.count <= AccessLimits.passwordBytesMax, let other = Self.derive(password, salt, cost) else {
            return false
        }
        return CRYPTO_memcmp(other, key, key.count) == 0
    }

    /// A hash that no password has, to be verified against where there is no such user: so the time of the answer does not tell.
    public static let ofNobody = PasswordHash(
        cost: .usual, salt: [UInt8](repeating: 0, count: saltByteCount), key: [UInt8](repeating: 0, count: keyByteCount)
    )

    private init(cost: Cost, salt: [UInt8], key: [UInt8]) {
        (self.cost, self.salt, self.key) = (cost, salt, key)
    }

    // MARK: Text

    /// `scrypt$15$8$3$SALT$KEY`, the last two in base64.
    public var text: String {
        "scrypt$\(cost.logN)$\(cost.r)$\(cost.p)$\(Base64.encode(salt))$\(Base64.encode(key))"
    }

    /// Reads what `text` gave; `nil` for what is no such text, or asks for more than a login may cost.
    public init?(text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 6, parts[0] == "scrypt", let logN = Int(parts[1]), let r = Int(parts[2]),
            let p = Int(parts[3]), let salt = Base64.decode(parts[4]), let key = Base64.decode(parts[5]),
            salt.count == Self.saltByteCount, key.count == Self.keyByteCount
        else { return nil }
        let cost = Cost(logN: logN, r: r, p: p)
        guard cost.isBounded else { return nil }
        self.init(cost: cost, salt: salt, key: key)
    }

    static func derive(_ password: [UInt8], _ salt: [UInt8], _ cost: Cost) -> [UInt8]? {
        var key = [UInt8](repeating: 0, count: keyByteCount)
        // What it needs beside its blocks is small; 1 MiB is room enough.
        let memory = cost.memoryBytes + UInt64(128 * cost.r * cost.p) + 1 << 20
        let isMade = password.withUnsafeBytes { bytes in
            EVP_PBE_scrypt(
                bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, salt, salt.count,
                1 << UInt64(cost.logN),
                UInt64(cost.r), UInt64(cost.p), memory, &key, key.count)
        }
        return isMade == 1 ? key : nil
    }

    private static func failed() -> KithError {
        ERR_clear_error()
        return KithError(.internal, "the password cannot be hashed: OpenSSL has no memory or no randomness")
    }
}
