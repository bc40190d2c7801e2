import KithDocuments
import Testing

@testable import KithAccess

@Suite("Passwords")
struct PasswordHashTests {
    private static let cheap = PasswordHash.Cost(logN: 4, r: 8, p: 1)

    @Test("the right one is verified, also after its text was read; others are not")
    func verifies() throws {
        let hash = try PasswordHash(password: Array("correct horse".utf8), cost: Self.cheap)
        let again = try #require(PasswordHash(text: hash.text))
        #expect(again == hash)
        #expect(again.verifies(Array("correct horse".utf8)))
        #expect(!again.verifies(Array("correct horsf".utf8)))
        #expect(!again.verifies([]))
        let other = try PasswordHash(password: Array("correct horse".utf8), cost: Self.cheap)
        #expect(other.key != hash.key, "two have different salts")
    }

    @Test("what is derived is what RFC 7914 §12 has")
    func vector() throws {
        // P="password", S="NaCl", N=1024, r=8, p=16: its first 32 bytes.
        let key = PasswordHash.derive(
            Array("password".utf8), Array("NaCl".utf8), PasswordHash.Cost(logN: 10, r: 8, p: 16))
        #expect(key.map(Base64.encode) == "/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI=")
    }

    @Test("too short, too long, and texts that ask for too much are refused")
    func bounds() {
        #expect(throws: (any Error).self) { try PasswordHash(password: Array("1234567".utf8), cost: Self.cheap) }
        #expect(throws: (any Error).self) {
            try PasswordHash(password: [UInt8](repeating: 65, count: 1_025), cost: Self.cheap)
        }
        let salt = "AAAAAAAAAAAAAAAAAAAAAA==", key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        #expect(PasswordHash(text: "scrypt$15$8$3$\(salt)$\(key)") != nil)
        for text in [
            "", "scrypt", "scrypt$30$8$1$\(salt)$\(key)", "scrypt$20$16$1$\(salt)$\(key)",
            "scrypt$15$8$99$\(salt)$\(key)",
            "scrypt$-1$8$1$\(salt)$\(key)", "argon2$15$8$3$\(salt)$\(key)", "scrypt$15$8$3$\(key)$\(salt)",
            "scrypt$15$8$3$\(salt)$\(key)$",
        ] { #expect(PasswordHash(text: text) == nil, "\(text)") }
    }
}
