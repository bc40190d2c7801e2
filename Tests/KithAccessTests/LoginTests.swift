import KithDocuments
import Testing

@testable import KithAccess

@Suite("Logins")
struct LoginTests {
    private func user(_ name: String, _ password: String = "correct horse") throws -> User {
        try User(
            name: name, roles: ["staff"],
            password: PasswordHash(password: Array(password.utf8), cost: PasswordHash.Cost(logN: 1, r: 1, p: 1)))
    }

    @Test("a session is its user's until its end, and no longer than the password")
    func session() throws {
        let key = try SessionKey()
        var ann = try user("ann")
        let bob = try user("bob")
        let session = UserSession(of: ann, now: 1_000)
        let cookie = key.cookie(for: session)
        func who(_ text: String, _ now: UInt64) -> User? {
            key.session(of: text, now: now) { name in [ann, bob].first { $0.name == name } }?.user
        }
        #expect(who(cookie, 1_001) == ann)
        #expect(who(cookie, 1_000 + AccessLimits.sessionSeconds) == nil)
        #expect(session.prolonged(now: 1_010) == nil, "nearly all of it is left")
        var longest = try #require(session.prolonged(now: 1_100))
        #expect(who(key.cookie(for: longest), 1_000 + AccessLimits.sessionSeconds) == ann)
        while let longer = longest.prolonged(now: longest.end - 1) { longest = longer }
        #expect(
            longest.end <= 1_000 + AccessLimits.sessionSecondsMax, "whoever has the cookie has it for a day at most")
        for place in cookie.indices {
            var changed = cookie
            changed.replaceSubrange(place...place, with: cookie[place] == "0" ? "1" : "0")
            #expect(who(changed, 1_001) == nil, "\(changed)")
        }
        #expect(try SessionKey().session(of: cookie, now: 1_001) { _ in ann } == nil, "of another process")
        for text in ["", "-", "--", "616e6e-ff", String(repeating: "a", count: 10_000)] { #expect(who(text, 1) == nil) }
        ann.isDisabled = true
        #expect(who(cookie, 1_001) == nil)
        ann = try user("ann")
        #expect(who(cookie, 1_001) == nil, "the password is another one")
    }

    @Test("right credentials are remembered for a while, and not beyond a new password; their number is bounded")
    func remembered() throws {
        var verified = try VerifiedCredentials()
        let ann = try user("ann")
        let password = Array("correct horse".utf8)
        func has(_ user: User, _ password: [UInt8], _ now: UInt64) -> Bool { verified.has(user, password, now: now) }
        #expect(!has(ann, password, 10))
        verified.note(ann, password, now: 10)
        #expect(has(ann, password, 11))
        #expect(!has(ann, Array("correct horsf".utf8), 11))
        #expect(has(ann, password, 10 + AccessLimits.rememberedSeconds), "its use prolongs it")
        #expect(!has(ann, password, 10 + 2 * AccessLimits.rememberedSeconds))
        #expect(!has(try user("ann"), password, 11), "hashed anew")
        for number in 0..<AccessLimits.rememberedMax { verified.note(try user("u\(number)"), password, now: 11) }
        #expect(!has(ann, password, 12), "the oldest has gone")
    }

    @Test("an address that fails waits, longer each time, and is forgotten after a while; others do not wait")
    func throttle() {
        var throttle = LoginThrottle()
        for _ in 0..<AccessLimits.freeFailures { throttle.noteFailure(of: "a", as: "ann", now: 100) }
        #expect(throttle.wait(of: "a", as: "ann", now: 100) == 0)
        throttle.noteFailure(of: "a", as: "ann", now: 100)
        #expect(throttle.wait(of: "a", as: "ann", now: 100) == 0.5)
        throttle.noteFailure(of: "a", as: "ann", now: 100)
        #expect(throttle.wait(of: "a", as: "ann", now: 100.25) == 0.75)
        for _ in 0..<100 { throttle.noteFailure(of: "a", as: "ann", now: 100) }
        #expect(throttle.wait(of: "a", as: "ann", now: 100) == AccessLimits.waitSecondsMax)
        #expect(throttle.wait(of: "b", as: "ann", now: 100) == 0)
        let later = 100 + Double(AccessLimits.failuresForgottenSeconds)
        throttle.noteFailure(of: "a", as: "ann", now: later)
        #expect(throttle.wait(of: "a", as: "ann", now: later) == 0)
        for number in 0..<(AccessLimits.addressesMax + 5) { throttle.noteFailure(of: "\(number)", as: "ann", now: 200) }
        #expect(throttle.count <= AccessLimits.addressesMax)
    }

    @Test("an address that fails with one name keeps others out only when it has failed with many")
    func names() {
        var throttle = LoginThrottle(freeFailures: 1)
        for _ in 0..<10 { throttle.noteFailure(of: "a", as: "ann", now: 100) }
        #expect(throttle.wait(of: "a", as: "ann", now: 100) > 0)
        #expect(throttle.wait(of: "a", as: "bob", now: 100) == 0)
        throttle.noteFailure(of: "a", as: "bob", now: 100)
        #expect(throttle.wait(of: "a", as: "bob", now: 100) > 0, "one attempt")
        #expect(throttle.wait(of: "a", as: String(repeating: "x", count: 1_000), now: 100) > 0)
        for number in 0..<AccessLimits.failedNamesMax { throttle.noteFailure(of: "a", as: "\(number)", now: 100) }
        #expect(throttle.wait(of: "a", as: "carl", now: 100) > 0)
    }

    @Test("the file of users is read as it was written; anything else in it is an error without a secret in it")
    func file() throws {
        var list = UserList()
        var ann = try user("ann")
        ann.isDisabled = true
        try list.put(ann)
        try list.put(try user("bob"))
        #expect(try UserList(parsing: list.encoded(), path: "users.json") == list)
        let text = String(decoding: list.encoded(), as: UTF8.self)
        let changes: [(String, String)] = [
            ("\"format\":1", "\"format\":2"), ("\"roles\":[\"staff\"]", "\"roles\":[\"_x\"]"),
            ("\"roles\"", "\"rights\""),
            ("bob", "ann"), ("scrypt", "rot13"), ("\"name\":\"bob\"", "\"name\":\"b:b\""), ("true", "1"), ("{", "["),
        ]
        for (old, new) in changes {
            let changed = text.replacing(old, with: new)
            #expect(changed != text)
            let error = #expect(throws: KithError.self, "\(new)") {
                _ = try UserList(parsing: Array(changed.utf8), path: "users.json")
            }
            #expect(error?.message.contains("$") == false)
        }
    }

    @Test("what cannot be a name or a role is refused")
    func badNames() {
        for name in ["", "a:b", "_admin", "a\nb", "a\u{7f}", String(repeating: "x", count: 129)] {
            #expect(throws: KithError.self, "\(name)") { try AccessName.check(user: name) }
        }
        for role in ["", "_staff", "a\u{0}"] { #expect(throws: KithError.self) { try AccessName.check(role: role) } }
        #expect(throws: Never.self) { try AccessName.check(role: "_admin") }
        #expect(throws: Never.self) { try AccessName.check(user: "Ännchen von Tharau") }
    }
}
