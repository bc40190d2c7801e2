import COpenSSL
import KithDocuments

/// What one person tells the other so that two machines pair: a digit and three words, good once and for a short time.
///
/// It is a secret: neither its description nor a reflection of it shows it.
public struct InvitationCode: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// How many codes there are; who guesses has few tries of so many.
    public static let count = 10_000_000

    private let value: Int

    init(value: Int) {
        precondition((0..<Self.count).contains(value), "an invitation code has a digit and three words")
        self.value = value
    }

    /// A code by chance.
    ///
    /// - Throws: `.internal` when the system has no randomness.
    public static func random() throws(KithError) -> InvitationCode {
        // Whatever is beyond the last whole multiple is thrown away, or some codes would come more often.
        let limit = UInt32.max - UInt32.max % UInt32(count)
        while true {
            var number: UInt32 = 0
            let result = withUnsafeMutableBytes(of: &number) {
                RAND_bytes($0.assumingMemoryBound(to: UInt8.self).baseAddress, Int32($0.count))
            }
            guard result == 1 else {
                throw KithError(.internal, "OpenSSL has no randomness: \(OpenSSLFailure.take())")
            }
            if number < limit { return InvitationCode(value: Int(number % UInt32(count))) }
        }
    }

    /// Reads a code as people type it: in any case, with hyphens or spaces, the words whole or from three letters on.
    ///
    /// - Throws: `.badRequest` saying which part is none.
    public init(parsing text: String) throws(KithError) {
        func bad(_ what: String) -> KithError {
            KithError(
                .badRequest, "that is no invitation code: \(what)",
                remedy: "A code is a digit and three words, such as 7-harbor-desert-bridge")
        }
        guard text.utf8.count <= 100 else { throw bad("it is too long") }
        let parts = text.lowercased().split { !$0.isLetter && !$0.isNumber }
        guard parts.count == 4 else { throw bad("it has \(parts.count) parts") }
        let digit = Array(parts[0].utf8)
        guard digit.count == 1, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit[0]) else {
            throw bad("it does not begin with a digit")
        }
        var value = Int(digit[0] - UInt8(ascii: "0"))
        for (place, part) in parts.dropFirst().enumerated() {
            let letters = Array(part.utf8)
            // No two words begin with the same three letters.
            guard letters.count >= 3,
                let word = ComparisonWords.all.firstIndex(where: { $0.utf8.starts(with: letters) })
            else { throw bad("there is no such word as its \(["first", "second", "third"][place]) one") }
            value = value * 100 + word
        }
        self.value = value
    }

    /// The code for people: `7-harbor-desert-bridge`.
    public var text: String { "\(value / 1_000_000)-\(ComparisonNumber(value % 1_000_000).words)" }

    /// Not the code.
    public var description: String { "InvitationCode(hidden)" }
    /// Nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The secret of SPAKE2 that the code stands for: scrypt (RFC 7914) of its text, with eight bytes more than a scalar has,
    /// so that the remainder is even (RFC 9382, section 3.2). It takes a twentieth of a second and 16 MiB.
    ///
    /// - Throws: `.internal` when OpenSSL fails.
    public func secret() throws(KithError) -> InvitationSecret {
        let text = Array(self.text.utf8.map { CChar(bitPattern: $0) })
        let salt = Array("kith-join-1".utf8)
        var bytes = [UInt8](repeating: 0, count: SPAKE2.scalarByteCount + 8)
        defer { bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        guard
            EVP_PBE_scrypt(text, text.count, salt, salt.count, 1 << 14, 8, 1, 32 << 20, &bytes, bytes.count) == 1
        else { throw SPAKE2.failed() }
        let curve = try SPAKE2Curve()
        return InvitationSecret(scalar: try curve.reduced(bytes))
    }
}
