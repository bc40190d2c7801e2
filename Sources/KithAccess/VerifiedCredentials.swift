import KithDocuments

/// Credentials that were right a moment ago: who sends them with each request (Basic, RFC 7617) costs one verification and not
/// one for each.
///
/// Nothing here is a password or a hash that could be tried out: each is kept as HMAC with a key of the process.
public struct VerifiedCredentials: Sendable {
    private struct Entry: Sendable {
        var password: PasswordHash
        var end: UInt64
    }

    private let hash: KeyedHash
    private var entries: [[UInt8]: Entry] = [:]
    /// The keys of `entries` as they came, with some that are there no more.
    private var order: [[UInt8]] = []

    /// - Throws: `.internal` when there is no randomness.
    public init() throws(KithError) { hash = try KeyedHash() }

    /// Whether this password was right for this user not long ago, and is still the user's. Then it is remembered anew.
    public mutating func has(_ user: User, _ password: [UInt8], now: UInt64) -> Bool {
        let key = hash(Array(user.name.utf8), password)
        guard let entry = entries[key], now < entry.end, entry.password == user.password else { return false }
        entries[key]?.end = now + AccessLimits.rememberedSeconds
        return true
    }

    /// Notes that it is right; the oldest goes where there are too many.
    public mutating func note(_ user: User, _ password: [UInt8], now: UInt64) {
        let key = hash(Array(user.name.utf8), password)
        if entries.updateValue(Entry(password: user.password, end: now + AccessLimits.rememberedSeconds), forKey: key)
            == nil
        {
            order.append(key)
        }
        while entries.count > AccessLimits.rememberedMax || order.count > 2 * AccessLimits.rememberedMax {
            entries[order.removeFirst()] = nil
        }
    }

    /// Forgets everything.
    public mutating func removeAll() {
        entries = [:]
        order = []
    }
}
