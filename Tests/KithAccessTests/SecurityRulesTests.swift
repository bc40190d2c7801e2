import KithDocuments
import Testing

@testable import KithAccess

@Suite("Rules of a database")
struct SecurityRulesTests {
    private func rules(_ text: String) throws -> SecurityRules {
        try SecurityRules(try #require(try JSONValue(parsing: Array(text.utf8)).objectValue))
    }

    private let ann = Principal(name: "ann", roles: ["staff"])
    private let admin = Principal(name: "root", roles: ["_admin"])

    @Test("where nothing was said only the node's administrators may do anything")
    func unsaid() {
        #expect(SecurityRules.unsaid.access(of: .guest) == .none)
        #expect(SecurityRules.unsaid.access(of: ann) == .none)
        #expect(SecurityRules.unsaid.access(of: admin) == .administer)
    }

    @Test("an object that names nobody lets everybody write, as in CouchDB")
    func empty() throws {
        #expect(try rules("{}").access(of: .guest) == .write)
        #expect(try rules(#"{"members":{"names":[],"roles":[]}}"#).access(of: .guest) == .write)
    }

    @Test("admins, members and readers by name and by role, and nobody else")
    func groups() throws {
        let rules = try rules(
            #"{"admins":{"names":["eve"]},"members":{"roles":["staff"]},"readers":{"names":["bob"],"roles":["audit"]}}"#
        )
        #expect(rules.access(of: Principal(name: "eve", roles: [])) == .administer)
        #expect(rules.access(of: ann) == .write)
        #expect(rules.access(of: Principal(name: "bob", roles: [])) == .read)
        #expect(rules.access(of: Principal(name: "x", roles: ["audit"])) == .read)
        #expect(rules.access(of: Principal(name: "staff", roles: [])) == .none)
        #expect(rules.access(of: .guest) == .none)
        let readersOnly = try self.rules(#"{"readers":{"names":["bob"]}}"#)
        #expect(readersOnly.access(of: ann) == .none)
    }

    @Test("names that only look alike are different")
    func bytes() throws {
        let rules = try rules(#"{"members":{"names":["jos\u00e9"]}}"#)
        #expect(rules.access(of: Principal(name: "jose\u{301}", roles: [])) == .none)
        #expect(rules.access(of: Principal(name: "jos\u{e9}", roles: [])) == .write)
    }

    @Test("what is no such object is refused, naming the member")
    func wrong() {
        for text in [
            #"{"admins":[]}"#, #"{"members":{"names":"ann"}}"#, #"{"readers":{"roles":[1]}}"#,
            "{\"members\":{\"names\":[\"\(String(repeating: "a", count: 129))\"]}}",
        ] { #expect(throws: KithError.self, "\(text)") { _ = try rules(text) } }
    }
}
